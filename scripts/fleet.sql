-- The runs of many machines as tables, for DuckDB: views of the unchanged folders in
-- results/. In the folder that contains results/:
--
--     duckdb -init scripts/fleet.sql
--     D FROM slow_hosts;
--
-- docs/FLEET.md lists the questions that this answers.

-- One row per run. A host's name is that of its runs' folders without the date and without
-- the number of later runs on the same day.
CREATE OR REPLACE VIEW runs AS
WITH described AS (
    SELECT *, parse_path(filename)[-2] AS run
    FROM read_json(
        'results/*/run.json',
        filename = true,
        maximum_object_size = 134217728,
        columns = {
            started_at: 'TIMESTAMP', profile: 'VARCHAR', rounds: 'UBIGINT', seed: 'UBIGINT',
            side: 'VARCHAR', cases: 'VARCHAR[]', skipped: 'JSON[]', brigade_version: 'VARCHAR'
        }
    )
),
numbered AS (SELECT *, regexp_replace(run, '-\d+$', '') AS first_of_day FROM described)
SELECT
    run,
    regexp_replace(
        CASE WHEN first_of_day IN (SELECT run FROM described) THEN first_of_day ELSE run END,
        '^\d{4}-\d\d-\d\d-',
        ''
    ) AS host,
    started_at,
    profile,
    rounds,
    seed,
    side,
    len(cases) AS cases,
    len(skipped) AS skipped,
    brigade_version
FROM numbered;

-- One row per run and fact of its environment, such as `kernel.release`, as text. Unknown
-- facts have no row.
CREATE OR REPLACE VIEW facts AS
WITH entries AS (
    SELECT
        parse_path(filename)[-2] AS run,
        unnest(map_entries(CAST(content::JSON AS MAP(VARCHAR, VARCHAR)))) AS entry
    FROM read_text('results/*/environment.json')
)
SELECT run, entry.key AS fact, entry.value AS content
FROM entries
WHERE entry.key NOT IN ('boot', 'schema_version');

-- One row per run with its type of machine: the views below compare machines of
-- one type.
CREATE OR REPLACE VIEW machines AS
WITH processors AS (
    SELECT
        run,
        max(content) FILTER (fact = 'processor.model') AS model,
        max(content) FILTER (fact = 'processor.architecture') AS architecture,
        max(content) FILTER (fact = 'processor.family') AS family,
        max(content) FILTER (fact = 'processor.model_number') AS model_number,
        max(content) FILTER (fact = 'processor.online_cpus') AS cpus
    FROM facts
    GROUP BY run
)
SELECT
    run,
    coalesce(model, architecture)
    || coalesce(' family ' || family || ' model ' || model_number, '')
    || coalesce(', ' || cpus || if(cpus = '1', ' CPU', ' CPUs'), '') AS machine
FROM processors;

-- One row per host, with its most important facts.
CREATE OR REPLACE VIEW hosts AS
SELECT
    host,
    count(DISTINCT run) AS runs,
    any_value(machine) AS machine,
    max(content) FILTER (fact = 'processor.model') AS cpu,
    max(content) FILTER (fact = 'processor.online_cpus')::UBIGINT AS online_cpus,
    max(content) FILTER (fact = 'processor.virtualisation') AS virtualisation,
    max(content) FILTER (fact = 'processor.governor') AS governor,
    max(content) FILTER (fact = 'kernel.release') AS kernel,
    max(content) FILTER (fact = 'kernel.preemption') AS preemption
FROM runs
LEFT JOIN facts USING (run)
LEFT JOIN machines USING (run)
GROUP BY host;

-- One row per process. `ns` is the mean time of an operation of the
-- first measurement, and `unusable` whether others used more than a fifth of its CPUs'
-- time, both as in reports.
CREATE OR REPLACE VIEW invocations AS
SELECT
    parse_path(filename)[-2] AS run,
    "case" AS name,
    round,
    coalesce(attempt, 1) AS attempt,
    started_at,
    duration_ns,
    outcome,
    coalesce(interrupted, false) AS interrupted,
    error,
    json_extract_string(record, '$.program') AS program,
    json_extract(record, '$.parameters') AS parameters,
    json_extract_string(record, '$.measurements[0].operation') AS operation,
    json_extract(record, '$.measurements[0].ns_per_operation')::DOUBLE AS ns,
    json_extract(record, '$.interference.steal_ns')::DOUBLE AS steal_ns,
    json_extract(record, '$.interference.others_cpu_ns')::DOUBLE AS others_cpu_ns,
    coalesce(
        json_extract(record, '$.interference.wall_ns')::DOUBLE,
        json_extract(record, '$.measurements[0].mean_ns')::DOUBLE
        * json_extract(record, '$.measurements[0].count')::DOUBLE
    ) AS wall_ns,
    greatest(1, coalesce(json_array_length(record, '$.affinity'), 0)) AS cpus,
    coalesce(
        wall_ns > 0 AND greatest(steal_ns, others_cpu_ns) > cpus * (0.2 * wall_ns + 20e6),
        false
    ) AS unusable
FROM read_json(
    'results/*/records.jsonl',
    format = 'newline_delimited',
    filename = true,
    ignore_errors = true,
    maximum_object_size = 134217728,
    columns = {
        "case": 'VARCHAR', round: 'UBIGINT', attempt: 'UBIGINT', started_at: 'TIMESTAMP',
        duration_ns: 'UBIGINT', outcome: 'VARCHAR', interrupted: 'BOOLEAN', error: 'VARCHAR',
        record: 'JSON'
    }
);

-- One row per case.
CREATE OR REPLACE VIEW cases AS
SELECT name, any_value(program) AS program, any_value(operation) AS operation,
    count(DISTINCT run) AS runs, count(*) AS invocations
FROM invocations
GROUP BY name;

-- The time of an operation on each host: the median over its processes. As in reports, a
-- round counts once, by its first usable process, and unusable ones count only if a run
-- has no others.
CREATE OR REPLACE VIEW medians AS
WITH rounds AS (
    SELECT *
    FROM invocations
    WHERE outcome = 'measured' AND NOT interrupted AND ns > 0
    QUALIFY row_number() OVER (PARTITION BY run, name, round ORDER BY unusable, attempt) = 1
),
counted AS (
    SELECT *
    FROM rounds
    QUALIFY NOT unusable OR bool_and(unusable) OVER (PARTITION BY run, name)
)
SELECT host, machine, name, median(ns) AS median_ns,
    quantile_cont(ns, 0.25) AS lower_quartile_ns,
    quantile_cont(ns, 0.75) AS upper_quartile_ns, count(*) AS processes
FROM counted
JOIN runs USING (run)
JOIN machines USING (run)
GROUP BY host, machine, name;

-- The time of a case on each host divided by that on the median host, for the most common
-- type of machine.
CREATE OR REPLACE VIEW times_as_long AS
WITH most_frequent AS (
    SELECT machine FROM machines GROUP BY machine ORDER BY count(*) DESC, machine LIMIT 1
)
SELECT host, name, median_ns, processes,
    median_ns / median(median_ns) OVER (PARTITION BY name) AS times
FROM medians
JOIN most_frequent USING (machine)
QUALIFY count(*) OVER (PARTITION BY name) > 1;

-- Every case over those hosts.
CREATE OR REPLACE VIEW cases_over_hosts AS
SELECT name, count(*) AS hosts, sum(processes)::UBIGINT AS processes,
    median(median_ns) AS median_ns, quantile_cont(median_ns, 0.25) AS lower_quartile_ns,
    quantile_cont(median_ns, 0.75) AS upper_quartile_ns
FROM times_as_long
GROUP BY name;

-- Those hosts, slowest first: the geometric mean over cases that others have, too.
CREATE OR REPLACE VIEW slow_hosts AS
SELECT host, geomean(times) AS times, count(*) AS cases
FROM times_as_long
GROUP BY host
ORDER BY times DESC;

-- Facts common to all hosts that are a tenth slower than the median one, with the share of
-- other hosts that have them; the rarest among the others come first.
CREATE OR REPLACE VIEW facts_of_slow_hosts AS
WITH judged AS (SELECT host, times > 1.1 AS is_slow FROM slow_hosts),
of_host AS (
    SELECT DISTINCT host, is_slow, fact, content
    FROM facts
    JOIN runs USING (run)
    JOIN judged USING (host)
),
counts AS (
    SELECT count(*) FILTER (is_slow) AS slow, count(*) FILTER (NOT is_slow) AS others
    FROM judged
)
SELECT fact, content,
    count(DISTINCT host) FILTER (is_slow) AS slow_hosts,
    count(DISTINCT host) FILTER (NOT is_slow) / nullif(any_value(others), 0) AS share_of_others
FROM of_host, counts
GROUP BY fact, content
HAVING count(DISTINCT host) FILTER (is_slow) = any_value(slow) AND any_value(slow) > 0
ORDER BY share_of_others, fact;
