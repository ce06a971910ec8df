//! Which hosts stand out: from the middle host, from what hosts scatter by, and from
//! what does not matter.

use super::FALSE_DISCOVERIES;
use super::model::{CaseOverHosts, HostCase, HostEstimate, Standing};
use crate::judge::statistics::{Interval, discoveries, median, spread, student_tails};

/// The fewest hosts among which one is judged.
pub const FEWEST_HOSTS: usize = 5;

/// How many degrees of freedom a host is worth: about what it is worth to the median
/// absolute deviation, on which the spread rests. Few hosts whose middle ones happen to
/// lie close together make all others look far away, which is as frequent as with so
/// many degrees; the simulation beside this shows it.
const FREEDOM_OF_HOST: f64 = 1.0 / 3.0;

/// The variance of a median over that of a mean, of normal values.
const OF_MEDIAN: f64 = std::f64::consts::FRAC_PI_2;

/// Standard errors in half of a 95 % interval.
const IN_HALF: f64 = 1.96;

/// How many times as wide as the middle host's the intervals of a noisy host are.
const TOO_WIDE: f64 = 3.0;

/// The share of processes that may be disturbed, and the share of cases that may be
/// missing.
const MOST_MISSING: f64 = 0.5;

/// How many times as long all cases together take, and the standard error of its
/// logarithm: that of the mean over cases whose errors have nothing in common.
pub fn overall(cases: &[HostCase]) -> (f64, Option<f64>) {
    let count = cases.len().max(1) as f64;
    let log = cases.iter().map(|case| case.ratio.ln()).sum::<f64>() / count;
    let errors: Vec<f64> = cases.iter().filter_map(standard_error).collect();
    let of_mean = |squares: f64| (squares / errors.len() as f64 / count).sqrt();
    let error = (!errors.is_empty()).then(|| of_mean(errors.iter().map(|e| e * e).sum()));
    (log.exp(), error)
}

/// Half of the logarithm of what the ends of an interval differ by.
fn half_width(case: &HostCase) -> Option<f64> {
    let Interval { low, high } = case.ns.interval?;
    Some((high / low).ln() / 2.0)
}

/// The standard error of the logarithm of a host's median, by its own interval.
fn standard_error(case: &HostCase) -> Option<f64> {
    Some(half_width(case)? / IN_HALF)
}

/// Gives each host and each of its cases its standing. What is found must be so among
/// all tests, so that like hosts are rarely found different, and among its own kind, so
/// that of the hosts that are found few are like the others.
pub fn judge(hosts: &mut [HostEstimate], cases: &[CaseOverHosts], margin: f64) {
    set_aside(hosts, cases, margin);
    of_hosts(hosts);
    cases.iter().for_each(|case| of_case(hosts, &case.case));
    let of_hosts: Vec<f64> = hosts.iter().filter_map(|host| host.probability).collect();
    let cases = hosts.iter().flat_map(|host| &host.cases);
    let of_cases: Vec<f64> = cases.filter_map(|case| case.probability).collect();
    let among_all = discoveries(&[&of_hosts[..], &of_cases].concat(), FALSE_DISCOVERIES);
    let (hosts_of_all, cases_of_all) = among_all.split_at(of_hosts.len());
    let both = |of_all: &[bool], probabilities: &[f64]| -> Vec<bool> {
        let own = discoveries(probabilities, FALSE_DISCOVERIES);
        of_all.iter().zip(own).map(|(of_all, own)| *of_all && own).collect()
    };
    let mut hosts_found = both(hosts_of_all, &of_hosts).into_iter();
    let mut cases_found = both(cases_of_all, &of_cases).into_iter();
    for host in hosts {
        if host.probability.is_some() && hosts_found.next() == Some(true) {
            host.standing = standing(host.ratio, host.ratio, margin);
        }
        for case in &mut host.cases {
            if case.probability.is_some() && cases_found.next() == Some(true) {
                case.standing = of_ends(case, margin);
            }
        }
    }
}

/// The standing of what takes this many times as long by either end of what is known.
fn standing(low: f64, high: f64, margin: f64) -> Standing {
    let most = 1.0 + margin;
    match () {
        () if low > most => Standing::Slower,
        () if high < 1.0 / most => Standing::Faster,
        () => Standing::Alike,
    }
}

/// That of a case: all of its own interval must lie beyond the margin, since a host
/// that was in the slow one of two modes by chance differs from the others as well.
fn of_ends(case: &HostCase, margin: f64) -> Standing {
    let Some(Interval { low, high }) = case.ns.interval else { return Standing::Alike };
    let middle_ns = case.ns.value / case.ratio;
    standing(low / middle_ns, high / middle_ns, margin)
}

/// Sets hosts aside that cannot be judged.
fn set_aside(hosts: &mut [HostEstimate], cases: &[CaseOverHosts], margin: f64) {
    let of_most = |case: &&CaseOverHosts| 2 * case.hosts >= hosts.len();
    let frequent: Vec<&str> = cases.iter().filter(of_most).map(|case| case.case.as_str()).collect();
    let widths: Vec<Option<f64>> = hosts.iter().map(width).collect();
    let middle = median(&widths.iter().flatten().copied().collect::<Vec<_>>());
    for (host, width) in hosts.iter_mut().zip(widths) {
        let reason = reason_against(host, &frequent, width.zip(middle), margin);
        if reason.is_some() {
            host.standing = Standing::SetAside;
            host.reason = reason;
        }
    }
}

/// The median half-width of a host's intervals.
fn width(host: &HostEstimate) -> Option<f64> {
    median(&host.cases.iter().filter_map(half_width).collect::<Vec<_>>())
}

fn reason_against(
    host: &HostEstimate,
    frequent: &[&str],
    widths: Option<(f64, f64)>,
    margin: f64,
) -> Option<String> {
    let has = frequent.iter().filter(|case| host.case(case).is_some()).count();
    if host.cases.is_empty() || (has as f64) < MOST_MISSING * frequent.len() as f64 {
        let all = frequent.len();
        return Some(format!("it has {has} of the {all} cases that most hosts have"));
    }
    let HostEstimate { processes, disturbed, .. } = *host;
    if disturbed as f64 > MOST_MISSING * processes as f64 {
        return Some(format!("{disturbed} of {processes} processes were disturbed or failed"));
    }
    let (width, middle) = widths?;
    let percent = |width: f64| format!("± {:.0} %", width.exp_m1() * 100.0);
    let is_wide = width > TOO_WIDE * middle && width > margin.ln_1p();
    is_wide.then(|| {
        format!(
            "its intervals are {}, those of the middle host {}",
            percent(width),
            percent(middle)
        )
    })
}

/// The probability of each host, all cases together.
fn of_hosts(hosts: &mut [HostEstimate]) {
    let mut judged: Vec<&mut HostEstimate> =
        hosts.iter_mut().filter(|host| host.standing != Standing::SetAside).collect();
    let logs: Vec<Measured> = judged
        .iter()
        .map(|host| Measured { log: host.ratio.ln(), error: host.standard_error })
        .collect();
    for (host, probability) in judged.iter_mut().zip(probabilities(&logs)) {
        host.probability = probability;
    }
}

/// The probability of one case on each host.
fn of_case(hosts: &mut [HostEstimate], name: &str) {
    let judged = hosts.iter_mut().filter(|host| host.standing != Standing::SetAside);
    let mut cases: Vec<&mut HostCase> = judged.filter_map(|host| host.case_mut(name)).collect();
    let logs: Vec<Measured> = cases
        .iter()
        .map(|case| Measured { log: case.ratio.ln(), error: standard_error(case) })
        .collect();
    for (case, probability) in cases.iter_mut().zip(probabilities(&logs)) {
        case.probability = probability;
    }
}

/// A host's logarithm, and its standard error by the host's own processes.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    pub log: f64,
    pub error: Option<f64>,
}

/// How likely chance alone sets each host as far from the middle as it is, if hosts
/// scatter normally; nothing for too few hosts.
///
/// A host's distance from the median is divided by √(S² (1 + π/2n) + excess): S is the
/// robust spread of the n hosts, which has the noise of the middle host in it already,
/// and the excess is by how much the variance of this host's own error is above the
/// middle host's. The quotient has Student's distribution with n / 3 degrees of
/// freedom, or one with shorter tails.
pub fn probabilities(hosts: &[Measured]) -> Vec<Option<f64>> {
    let logs: Vec<f64> = hosts.iter().map(|host| host.log).collect();
    let count = logs.len() as f64;
    let (Some(centre), Some(scatter)) = (median(&logs), spread(&logs)) else {
        return vec![None; hosts.len()];
    };
    if hosts.len() < FEWEST_HOSTS {
        return vec![None; hosts.len()];
    }
    let variance = |host: &Measured| host.error.map(|error| error * error);
    let variances: Vec<f64> = hosts.iter().filter_map(variance).collect();
    let of_middle = median(&variances).unwrap_or(0.0);
    let of_hosts = scatter * scatter * (1.0 + OF_MEDIAN / count);
    let freedom = FREEDOM_OF_HOST * count;
    let probability = |host: &Measured| {
        let excess = variance(host).map_or(0.0, |variance| (variance - of_middle).max(0.0));
        let scale = (of_hosts + excess).sqrt();
        let distance = host.log - centre;
        if distance == 0.0 { 1.0 } else { student_tails(distance / scale, freedom) }
    };
    hosts.iter().map(|host| Some(probability(host))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::statistics::Estimate;

    fn measured(logs: &[f64]) -> Vec<Measured> {
        logs.iter().map(|log| Measured { log: *log, error: Some(0.01) }).collect()
    }

    #[test]
    fn four_hosts_are_too_few_and_like_ones_do_not_differ() {
        assert_eq!(probabilities(&measured(&[0.0, 0.0, 0.0, 1.0])), [None; 4]);
        assert_eq!(probabilities(&measured(&[0.5; 5])), [Some(1.0); 5]);
        assert_eq!(probabilities(&[]), []);
    }

    #[test]
    fn one_far_away_is_unlikely_and_less_so_if_it_is_noisy() {
        let mut hosts = measured(&[-0.02, -0.01, 0.0, 0.01, 0.02, 0.0, 0.2]);
        let sure = probabilities(&hosts)[6].unwrap();
        assert!(sure < 0.01, "{sure}");
        hosts[6].error = Some(0.1);
        let noisy = probabilities(&hosts)[6].unwrap();
        assert!(noisy > 0.05, "{noisy}");
        assert!(probabilities(&hosts)[0].unwrap() > 0.05);
    }

    fn case(low: f64, value: f64, high: f64, ratio: f64) -> HostCase {
        let ns =
            Estimate { interval: Some(Interval { low, high }), ..Estimate::of(&[value]).unwrap() };
        HostCase {
            case: "ring".to_owned(),
            ns,
            ratio,
            probability: None,
            standing: Standing::Alike,
        }
    }

    // Ratios 2 and 8 have the geometric mean 4; half-widths ln 2 and 0 the standard
    // errors ln 2 / 1.96 and 0, and their mean √(its square) / 2.
    #[test]
    fn all_cases_together_are_their_geometric_mean() {
        let (ratio, error) = overall(&[case(5.0, 10.0, 20.0, 2.0), case(3.0, 3.0, 3.0, 8.0)]);
        assert!((ratio - 4.0).abs() < 1e-12);
        assert!((error.unwrap() - 2_f64.ln() / 1.96 / 2.0).abs() < 1e-12);
        assert_eq!(overall(&[]), (1.0, None));
    }

    #[test]
    fn all_of_a_cases_own_interval_must_lie_beyond_the_margin() {
        // The middle host takes 10.
        assert_eq!(of_ends(&case(11.0, 12.0, 13.0, 1.2), 0.03), Standing::Slower);
        assert_eq!(of_ends(&case(10.2, 12.0, 13.0, 1.2), 0.03), Standing::Alike);
        assert_eq!(of_ends(&case(7.0, 8.0, 9.0, 0.8), 0.03), Standing::Faster);
        assert_eq!(of_ends(&case(7.0, 8.0, 9.8, 0.8), 0.03), Standing::Alike);
    }
}
