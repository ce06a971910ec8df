//! What an operation takes between pairs of CPUs, as tables and as a map of digits.

use super::page::{ABSENT, Block, COLUMNS, Side, Table, lines};
use super::plot::letter;
use super::quantity::{Unit, duration, estimated_duration};
use crate::judge::report::model::{Distance, DistanceTime, PairMap, PairTime, Report};

/// The most CPUs whose map is a table of figures in 80 columns.
const MOST_WITH_FIGURES: usize = 8;

/// The columns of a row's name in a map of digits.
const NAME: usize = 6;

/// Steps of equal ratio from the shortest time to the longest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steps {
    low: f64,
    high: f64,
    count: usize,
}

impl Steps {
    /// The most steps.
    pub const MOST: usize = 8;

    /// The steps of these pairs; `None` without a time.
    pub fn of(pairs: &[PairTime]) -> Option<Self> {
        let times = || pairs.iter().map(|pair| pair.time_ns.value).filter(|ns| *ns > 0.0);
        let (low, high) = (times().reduce(f64::min)?, times().reduce(f64::max)?);
        Some(Self { low, high, count: if high > low { Self::MOST } else { 1 } })
    }

    /// How many there are.
    pub fn count(self) -> usize {
        self.count
    }

    /// The step of a time.
    pub fn step(self, ns: f64) -> usize {
        let share = (ns / self.low).ln() / (self.high / self.low).ln();
        ((share * self.count as f64).max(0.0) as usize).min(self.count - 1)
    }

    /// The longest time of a step, in nanoseconds.
    pub fn end(self, step: usize) -> f64 {
        self.low * (self.high / self.low).powf((step + 1) as f64 / self.count as f64)
    }
}

/// A distance in words.
pub fn words(distance: Option<Distance>) -> &'static str {
    match distance {
        Some(Distance::SmtSibling) => "one core",
        Some(Distance::SharedCache) => "a shared cache",
        Some(Distance::SameNode) => "one NUMA node",
        Some(Distance::OtherNode) => "two NUMA nodes",
        None => "not known",
    }
}

/// The maps of a group.
pub fn of_group<'a>(report: &'a Report, group: &'a str) -> impl Iterator<Item = &'a PairMap> {
    report.pairs.iter().filter(move |map| map.group == group)
}

/// What a map is of: where there are several runs, which one.
pub fn name(report: &Report, map: &PairMap) -> String {
    match report.runs.len() {
        1 => map.name.clone(),
        _ => format!("{}: {}", letter(map.run), map.name),
    }
}

/// A group's pairs by distance, and a map of each way of handing over.
pub fn blocks(report: &Report, group: &str) -> Vec<Block> {
    let mut blocks = vec![Block::Table(distances(report, group))];
    for map in of_group(report, group) {
        match map.cpus.len() {
            0..=MOST_WITH_FIGURES => blocks.push(Block::Table(figures(report, map))),
            _ => blocks.extend(digits(report, map).map(Block::Code)),
        }
    }
    if of_group(report, group).next().is_some() { blocks } else { Vec::new() }
}

/// A group's pairs by distance.
pub fn distances(report: &Report, group: &str) -> Table {
    use Side::{Left, Right};
    let mut table = Table::new(&[
        ("two CPUs of", Left),
        ("", Left),
        ("time [95 %]", Left),
        ("pairs", Right),
        ("quickest", Right),
        ("slowest", Right),
    ]);
    for map in of_group(report, group) {
        for (index, of) in map.distances.iter().enumerate() {
            let DistanceTime { distance, pairs, time_ns, lowest, highest } = of;
            let unit = Unit::of(time_ns.value);
            table.push(vec![
                if index == 0 { name(report, map) } else { String::new() },
                words(*distance).to_owned(),
                estimated_duration(time_ns),
                pairs.to_string(),
                unit.show(lowest.time_ns.value),
                unit.show(highest.time_ns.value),
            ]);
        }
    }
    table
}

/// The places of a pair's CPUs in a map, the later one first.
pub fn places(map: &PairMap, pair: &PairTime) -> Option<[usize; 2]> {
    let place = |cpu: usize| map.cpus.iter().position(|of| of.cpu == cpu);
    let [first, second] = pair.cpus.map(place);
    let (first, second) = (first?, second?);
    Some([first.max(second), first.min(second)])
}

/// The times of a map by row and column.
fn cells(map: &PairMap) -> Vec<Vec<Option<f64>>> {
    let mut cells = vec![vec![None; map.cpus.len()]; map.cpus.len()];
    for pair in &map.pairs {
        let Some([row, column]) = places(map, pair) else { continue };
        cells[row][column] = Some(pair.time_ns.value);
        cells[column][row] = Some(pair.time_ns.value);
    }
    cells
}

/// The map of few CPUs as a table.
fn figures(report: &Report, map: &PairMap) -> Table {
    let mut table = Table::new(&[(&name(report, map), Side::Left)]);
    for place in &map.cpus {
        table = table.and(&format!("CPU {}", place.cpu), Side::Right);
    }
    for (place, row) in map.cpus.iter().zip(cells(map)) {
        let figure = |ns: Option<f64>| ns.map_or(ABSENT.to_owned(), duration);
        let figures: Vec<String> = row.into_iter().map(figure).collect();
        table.push([vec![format!("CPU {}", place.cpu)], figures].concat());
    }
    table
}

/// The map of more CPUs, a digit for each pair; `None` where a line has no room for all.
fn digits(report: &Report, map: &PairMap) -> Option<String> {
    if NAME + map.cpus.len() > COLUMNS {
        return None;
    }
    let steps = Steps::of(&map.pairs)?;
    // A blank before the first CPU of a cache.
    let is_apart = |at: usize| {
        at > 0
            && (map.cpus[at].cache, map.cpus[at].node)
                != (map.cpus[at - 1].cache, map.cpus[at - 1].node)
    };
    let line = |cells: &[Option<f64>], itself: Option<usize>| -> String {
        let character = |(at, cell): (usize, &Option<f64>)| {
            let blank = if is_apart(at) { " " } else { "" };
            let digit = match cell {
                Some(ns) => steps.step(*ns).to_string(),
                None if Some(at) == itself => "\\".to_owned(),
                None => ".".to_owned(),
            };
            format!("{blank}{digit}")
        };
        cells.iter().enumerate().map(character).collect()
    };
    let cells = cells(map);
    let mut text =
        format!("{} between CPUs, of which columns have the order of rows\n", name(report, map));
    for (row, place) in map.cpus.iter().enumerate() {
        let line =
            format!("{:>width$} {}", place.cpu, line(&cells[row], Some(row)), width = NAME - 1);
        if line.chars().count() > COLUMNS - 4 {
            return None;
        }
        text += &format!("{}{line}\n", if is_apart(row) { "\n" } else { "" });
    }
    let ends = (0..steps.count()).map(|step| format!("{step} to {}", duration(steps.end(step))));
    let ends: Vec<String> = ends.collect();
    Some(text + &lines(&format!("{}; . not measured", ends.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::super::bars::Characters;
    use super::super::fixture::{of_pairs, sixty_four};
    use super::super::text;
    use super::*;
    use crate::judge::report::model::CpuPlace;

    #[test]
    fn two_cpus_are_a_table() {
        let report = of_pairs(&[("spin", 100.0), ("futex", 40_000.0)]);
        insta::assert_snapshot!(text::blocks(&blocks(&report, "cores"), Characters::Plain), @r#"
        two CPUs of                time [95 %]          pairs quickest slowest
        spin        a shared cache 100 ns [98.4, 102]       1      100     100
        futex       a shared cache 40.0 µs [39.3, 40.7]     1     40.0    40.0

        spin   CPU 0  CPU 1
        CPU 0      – 100 ns
        CPU 1 100 ns      –

        futex   CPU 0   CPU 1
        CPU 0       – 40.0 µs
        CPU 1 40.0 µs       –
        "#);
    }

    #[test]
    fn sixty_four_cpus_are_a_map_of_digits() {
        insta::assert_snapshot!(text::blocks(&blocks(&sixty_four(), "cores"), Characters::Plain), @r#"
        two CPUs of                time [95 %]          pairs quickest slowest
        spin        one core       25.0 ns [24.6, 25.4]    32     25.0    25.0
                    a shared cache 50.0 ns [49.2, 50.8]   152     50.0    50.0
                    one NUMA node  75.0 ns [73.8, 76.2]    52     75.0    75.0
                    two NUMA nodes 176 ns [173, 179]       88      150     197

        spin between CPUs, of which columns have the order of rows
            0 \022..2......... 4............... 6............... ..............6.
           32 0\22...2........ .4.............. 77.............. 7.........7...77
            1 22\022..2....... ..4............. ..6............. ................
           33 220\22...2...... ...4............ ..77............ ..7.........7...
            2 ..22\022..2..... ....4........... ....6........... ................
           34 ..220\22...2.... .....4.......... ....77.......... ....7.........7.
            3 2...22\022..2... ......4......... ......7......... ................
           35 .2..220\22...2.. .......4........ ......77........ ......7.........
            4 ..2...22\022..2. ........4....... ........7....... ................
           36 ...2..220\22...2 .........4...... ........77...... ........7.......
            5 ....2...22\022.. 4.........4..... ..........7..... ................
           37 .....2..220\22.. .4.........4.... ..........77.... ..........7.....
            6 ......2...22\022 ..4.........4... ............7... ................
           38 .......2..220\22 ...4.........4.. ............77.. ............7...
            7 ........2...22\0 44..4.........4. ..............7. ................
           39 .........2..220\ 44...4.........4 ..............77 ..............7.

            8 4.........4...44 \022..2......... 7............... 7...............
           40 .4.........4..44 0\22...2........ .7.............. 77..............
            9 ..4.........4... 22\022..2....... ..7............. ..7.............
           41 ...4.........4.. 220\22...2...... ...7............ ..77............
           10 ....4.........4. ..22\022..2..... ....7........... ....7...........
           42 .....4.........4 ..220\22...2.... .....7.......... ....77..........
           11 ......4......... 2...22\022..2... ......7......... ......7.........
           43 .......4........ .2..220\22...2.. .......7........ ......77........
           12 ........4....... ..2...22\022..2. ........7....... ........7.......
           44 .........4...... ...2..220\22...2 .........7...... ........77......
           13 ..........4..... ....2...22\022.. 7.........7..... ..........7.....
           45 ...........4.... .....2..220\22.. .7.........7.... ..........77....
           14 ............4... ......2...22\022 ..7.........7... ............7...
           46 .............4.. .......2..220\22 ...7.........7.. ............77..
           15 ..............4. ........2...22\0 77..7.........7. ..............7.
           47 ...............4 .........2..220\ 77...7.........7 ..............77

           16 67.............. 7.........7...77 \022..2......... 4...............
           48 .7.............. .7.........7..77 0\22...2........ .4..............
           17 ..67............ ..7.........7... 22\022..2....... ..4.............
           49 ...7............ ...7.........7.. 220\22...2...... ...4............
           18 ....67.......... ....7.........7. ..22\022..2..... ....4...........
           50 .....7.......... .....7.........7 ..220\22...2.... .....4..........
           19 ......77........ ......7......... 2...22\022..2... ......4.........
           51 .......7........ .......7........ .2..220\22...2.. .......4........
           20 ........77...... ........7....... ..2...22\022..2. ........4.......
           52 .........7...... .........7...... ...2..220\22...2 .........4......
           21 ..........77.... ..........7..... ....2...22\022.. 4.........4.....
           53 ...........7.... ...........7.... .....2..220\22.. .4.........4....
           22 ............77.. ............7... ......2...22\022 ..4.........4...
           54 .............7.. .............7.. .......2..220\22 ...4.........4..
           23 ..............77 ..............7. ........2...22\0 44..4.........4.
           55 ...............7 ...............7 .........2..220\ 44...4.........4

           24 .7.............. 77.............. 4.........4...44 \022..2.........
           56 ................ .7.............. .4.........4..44 0\22...2........
           25 ...7............ ..77............ ..4.........4... 22\022..2.......
           57 ................ ...7............ ...4.........4.. 220\22...2......
           26 .....7.......... ....77.......... ....4.........4. ..22\022..2.....
           58 ................ .....7.......... .....4.........4 ..220\22...2....
           27 .......7........ ......77........ ......4......... 2...22\022..2...
           59 ................ .......7........ .......4........ .2..220\22...2..
           28 .........7...... ........77...... ........4....... ..2...22\022..2.
           60 ................ .........7...... .........4...... ...2..220\22...2
           29 .7.........7.... ..........77.... ..........4..... ....2...22\022..
           61 ................ ...........7.... ...........4.... .....2..220\22..
           30 ...7.........7.. ............77.. ............4... ......2...22\022
           62 ................ .............7.. .............4.. .......2..220\22
           31 67...7.........7 ..............77 ..............4. ........2...22\0
           63 .7.............. ...............7 ...............4 .........2..220\
        0 to 32.4 ns, 1 to 41.9 ns, 2 to 54.2 ns, 3 to 70.2 ns, 4 to 90.8 ns, 5 to
        118 ns, 6 to 152 ns, 7 to 197 ns; . not measured
        "#);
    }

    #[test]
    fn more_cpus_than_a_line_has_room_for_are_only_on_the_page() {
        let mut report = sixty_four();
        let place = |cpu| CpuPlace { cpu, node: None, cache: None, core: None };
        report.pairs[0].cpus = (0..8192).map(place).collect();
        let text = text::blocks(&blocks(&report, "cores"), Characters::Plain);
        assert!(text.contains("one NUMA node") && !text.contains("between CPUs"), "{text}");
    }

    #[test]
    fn steps_have_equal_ratios_and_hold_both_ends() {
        let pair = |ns: f64| PairTime {
            case: String::new(),
            cpus: [0, 1],
            distance: None,
            time_ns: crate::judge::statistics::Estimate::cautious(&[ns]).unwrap(),
        };
        let steps = Steps::of(&[pair(1.0), pair(256.0)]).unwrap();
        assert_eq!(steps.count(), 8);
        for (ns, step) in [(1.0, 0), (1.9, 0), (2.1, 1), (130.0, 7), (256.0, 7)] {
            assert_eq!(steps.step(ns), step, "{ns}");
        }
        assert!((steps.end(0) - 2.0).abs() < 1e-9 && (steps.end(7) - 256.0).abs() < 1e-9);
        let one = Steps::of(&[pair(5.0)]).unwrap();
        assert_eq!((one.count(), one.step(5.0)), (1, 0));
        assert_eq!(Steps::of(&[]), None);
    }
}
