//! The label of a results folder, made from what the CPU calls itself.

/// The longest label, in characters.
pub(super) const LONGEST: usize = 48;

/// Words of model names that tell machines apart no better than nothing.
const NOISE: [&str; 4] = ["cpu", "processor", "core", "cores"];

/// What tells CPUs of one model name apart.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Kind {
    /// Family, and the model's number within it.
    pub numbers: Option<(u64, u64)>,
    /// Size of a second-level cache, in bytes.
    pub second_level_bytes: Option<u64>,
}

impl Kind {
    /// `25-17`, or where there are no such numbers `l2-512k`. A figure that no CPU
    /// has is left out.
    fn words(self) -> Option<String> {
        let numbers = self.numbers.filter(|(family, model)| *family < 10_000 && *model < 10_000);
        let of_cache = |bytes: u64| match bytes {
            mebibytes if mebibytes.is_multiple_of(1 << 20) => format!("l2-{}m", mebibytes >> 20),
            bytes => format!("l2-{}k", bytes >> 10),
        };
        let cache = self.second_level_bytes.filter(|bytes| *bytes < 1 << 40);
        let numbers = numbers.map(|(family, model)| format!("{family}-{model}"));
        numbers.or_else(|| cache.map(of_cache))
    }
}

/// `model`, `kind` and `online_cpus` as `amd-epyc-25-17-2cpu`.
pub(super) fn label(model: &str, kind: Kind, online_cpus: Option<u64>) -> String {
    let count = online_cpus.map_or("cpu".to_owned(), |count| format!("{count}cpu"));
    let count = kind.words().into_iter().chain([count]).collect::<Vec<_>>().join("-");
    let room = LONGEST - count.len() - 1;
    let mut words = String::new();
    for word in significant_words(model) {
        if words.len() + 1 + word.len() > room {
            break;
        }
        if !words.is_empty() {
            words.push('-');
        }
        words.push_str(&word);
    }
    if words.is_empty() { format!("unknown-{count}") } else { format!("{words}-{count}") }
}

/// The words of a model name, lower case, without clock rate, trade marks,
/// core counts and the built-in graphics.
fn significant_words(model: &str) -> Vec<String> {
    let model = model.to_ascii_lowercase();
    let model = model.split(['@', '\n']).next().unwrap_or_default();
    let model = model.split(" w/ ").next().unwrap_or_default();
    let model = model.split(" with ").next().unwrap_or_default();
    let model =
        ["(r)", "(tm)", "(c)"].iter().fold(model.to_owned(), |m, mark| m.replace(mark, " "));
    model
        .split_whitespace()
        .filter(|word| !word.ends_with("-core"))
        .flat_map(|word| word.split(|c: char| !c.is_ascii_alphanumeric()))
        .filter(|word| !word.is_empty() && !NOISE.contains(word))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vendors_noise_is_left_out() {
        let check = |model, expected| assert_eq!(label(model, Kind::default(), Some(4)), expected);
        check("AMD EPYC", "amd-epyc-4cpu");
        check("Intel(R) Xeon(R) CPU E5-2686 v4 @ 2.30GHz", "intel-xeon-e5-2686-v4-4cpu");
        check("Intel(R) Core(TM) i7-8550U CPU @ 1.80GHz", "intel-i7-8550u-4cpu");
        check("AMD Ryzen 9 5950X 16-Core Processor", "amd-ryzen-9-5950x-4cpu");
        check("AMD Ryzen 7 7840U w/ Radeon 780M Graphics", "amd-ryzen-7-7840u-4cpu");
        check("AMD Ryzen 5 3400G with Radeon Vega Graphics", "amd-ryzen-5-3400g-4cpu");
        check("QEMU Virtual CPU version 2.5+", "qemu-virtual-version-2-5-4cpu");
        check("aarch64", "aarch64-4cpu");
    }

    #[test]
    fn cpus_of_one_name_have_labels_of_their_own() {
        let check = |numbers, second_level_bytes, expected| {
            let kind = Kind { numbers, second_level_bytes };
            assert_eq!(label("AMD EPYC", kind, Some(2)), expected);
        };
        check(Some((25, 17)), Some(1 << 20), "amd-epyc-25-17-2cpu");
        check(Some((25, 17)), None, "amd-epyc-25-17-2cpu");
        check(None, Some(1 << 20), "amd-epyc-l2-1m-2cpu");
        check(None, Some(512 << 10), "amd-epyc-l2-512k-2cpu");
        check(Some((u64::MAX, 1)), Some(u64::MAX), "amd-epyc-2cpu");
    }

    #[test]
    fn a_label_is_a_safe_folder_name_whatever_the_model() {
        let long = "very-long-model ".repeat(50);
        for model in ["", " ", "../../etc", "a/b\0c", "Ω°", "@ 2 GHz", &long, &"x".repeat(500)] {
            for count in [None, Some(1), Some(u64::MAX)] {
                let numbers = count.map(|count| (count.min(9999), 9999));
                let kind = Kind { numbers, second_level_bytes: count };
                let label = label(model, kind, count);
                assert!(label.len() <= LONGEST, "{label}");
                let safe = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
                assert!(label.chars().all(safe), "{label}");
                assert!(!label.starts_with('-') && !label.contains("--"), "{label}");
            }
        }
        assert_eq!(label("", Kind::default(), Some(2)), "unknown-2cpu");
        assert_eq!(label("AMD EPYC", Kind::default(), None), "amd-epyc-cpu");
    }
}
