//! Folders of runs on hosts that are made up: with known medians and noise, and slow
//! hosts that share one fact of their environment. The same seed makes the same folders.

use std::f64::consts::PI;
use std::fs;
use std::io;
use std::path::Path;

use fastrand::Rng;
use serde_json::{Value, json};

/// A run of this repository, whose files and first record the folders are made from.
const LIKE: &str = "results/2026-11-22-intel-xeon-6-207-2cpu";

/// What to make up.
#[derive(Clone, Copy, Debug)]
pub struct Fleet {
    /// Hosts, a count; the slow ones are the first.
    pub hosts: usize,
    /// Slow hosts, a count. They have the governor `powersave`, the others
    /// `performance`.
    pub slow: usize,
    /// How many times as long the slow ones take.
    pub slower: f64,
    /// Cases, a count. The middle host takes 1 µs in the first and 1 µs more in each.
    pub cases: usize,
    /// Rounds of each case, a count.
    pub rounds: usize,
    /// The seed.
    pub seed: u64,
    /// The date in the names of the folders.
    pub date: &'static str,
}

/// What hosts scatter by, and their processes: standard deviations of logarithms.
const OF_HOSTS: f64 = 0.01;
const OF_PROCESSES: f64 = 0.02;

impl Fleet {
    /// Writes the folders into this one, named `DATE-node-0000` and so on; `root` is this
    /// repository.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub fn write(&self, root: &Path, folder: &Path) -> io::Result<()> {
        let like = root.join(LIKE);
        let read = |name: &str| -> io::Result<Value> {
            Ok(serde_json::from_str(&fs::read_to_string(like.join(name))?)?)
        };
        let records = fs::read_to_string(like.join("records.jsonl"))?;
        let line: Value = serde_json::from_str(records.lines().next().unwrap_or_default())?;
        let (run, environment) = (read("run.json")?, read("environment.json")?);
        let mut rng = Rng::with_seed(self.seed);
        for number in 0..self.hosts {
            let host = folder.join(format!("{}-node-{number:04}", self.date));
            fs::create_dir_all(&host)?;
            fs::write(host.join("run.json"), self.run(run.clone()).to_string())?;
            let environment = self.environment(environment.clone(), number, &mut rng);
            fs::write(host.join("environment.json"), environment.to_string())?;
            fs::write(host.join("records.jsonl"), self.records(&line, number, &mut rng))?;
        }
        Ok(())
    }

    fn run(&self, mut run: Value) -> Value {
        run["cases"] = (0..self.cases).map(case).collect();
        run["details"] = json!([]);
        run["skipped"] = json!([]);
        run["rounds"] = json!(self.rounds);
        run
    }

    fn environment(&self, mut environment: Value, number: usize, rng: &mut Rng) -> Value {
        let slow = number < self.slow;
        environment["processor"]["governor"] =
            json!(if slow { "powersave" } else { "performance" });
        // Facts that have nothing to do with it.
        environment["kernel"]["release"] = json!(format!("6.12.{}", rng.u8(0..4)));
        environment["processor"]["microcode"] = json!(format!("0x{}", rng.u8(1..3)));
        environment["boot"] = json!(format!("{:08x}", rng.u32(..)));
        environment
    }

    fn records(&self, like: &Value, number: usize, rng: &mut Rng) -> String {
        let slower = if number < self.slow { self.slower.ln() } else { 0.0 };
        let host = slower + normal(rng) * OF_HOSTS;
        let of_cases: Vec<f64> = (0..self.cases).map(|_| host + normal(rng) * OF_HOSTS).collect();
        let mut records = String::new();
        for round in 1..=self.rounds {
            for (index, log) in of_cases.iter().enumerate() {
                let middle_ns = 1000.0 * (index + 1) as f64;
                let ns = middle_ns * (log + normal(rng) * OF_PROCESSES).exp();
                records += &(self.record(like.clone(), index, round, ns).to_string() + "\n");
            }
        }
        records
    }

    /// The line with hops of `ns` nanoseconds.
    fn record(&self, mut line: Value, index: usize, round: usize, ns: f64) -> Value {
        line["case"] = json!(case(index));
        line["round"] = json!(round);
        let record = &mut line["record"];
        // A parameter that tells the cases apart.
        record["parameters"]["work"] = json!(index + 1);
        record["interference"]["others_cpu_ns"] = json!(0);
        record["interference"]["steal_ns"] = json!(0);
        let tasks = record["tasks"].as_f64().unwrap_or(1.0);
        let measurement = &mut record["measurements"][0];
        let mean_ns = ns * measurement["operations"].as_f64().unwrap_or(1.0);
        for (name, by) in [
            ("min_ns", 0.9),
            ("p50_ns", 1.0),
            ("p90_ns", 1.1),
            ("p99_ns", 1.2),
            ("p999_ns", 1.2),
            ("max_ns", 1.2),
        ] {
            measurement[name] = json!((mean_ns * by) as u64);
        }
        measurement["mean_ns"] = json!(mean_ns);
        measurement["stddev_ns"] = json!(mean_ns * 0.05);
        measurement["ns_per_operation"] = json!(ns);
        measurement["ns_per_task"] = json!(mean_ns / tasks);
        line
    }
}

fn case(index: usize) -> String {
    format!("ring-{index}/free")
}

/// A normal value, by the method of Box and Muller.
fn normal(rng: &mut Rng) -> f64 {
    (-2.0 * (1.0 - rng.f64()).ln()).sqrt() * (2.0 * PI * rng.f64()).cos()
}
