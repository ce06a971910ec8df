//! Settings of tokio's runtimes: the values of `--tokio`.

use std::str::FromStr;

use tokio::runtime::Builder;

/// What tokio 1.54 does without a setting; its builder does not show it.
pub const DEFAULTS: &str = "event_interval=61, global_queue_interval=31 on one thread and tuned by \
                            itself with several workers, max_io_events_per_tick=1024";

/// The largest value of a setting.
const MOST: u32 = 1_000_000;

/// Settings of a runtime; `None` leaves tokio's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokioSettings {
    event_interval: Option<u32>,
    global_queue_interval: Option<u32>,
    max_io_events_per_tick: Option<u32>,
}

impl TokioSettings {
    /// Passes the settings to the builder of a runtime.
    pub fn apply(self, builder: &mut Builder) {
        if let Some(polls) = self.event_interval {
            builder.event_interval(polls);
        }
        if let Some(polls) = self.global_queue_interval {
            builder.global_queue_interval(polls);
        }
        if let Some(events) = self.max_io_events_per_tick {
            builder.max_io_events_per_tick(events as usize);
        }
    }
}

impl FromStr for TokioSettings {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut settings = Self::default();
        for setting in text.split(',') {
            let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
            let place = match name {
                "event_interval" => &mut settings.event_interval,
                "global_queue_interval" => &mut settings.global_queue_interval,
                "max_io_events_per_tick" => &mut settings.max_io_events_per_tick,
                _ => {
                    return Err(format!(
                        "unknown setting '{name}'; the settings and their defaults: {DEFAULTS}"
                    ));
                }
            };
            let value = value.parse().ok().filter(|value| (1..=MOST).contains(value));
            let value = value.ok_or_else(|| format!("{name} needs a number from 1 to {MOST}"))?;
            if place.replace(value).is_some() {
                return Err(format!("{name} is given twice"));
            }
        }
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_a_list_of_known_names_with_numbers() {
        let found: TokioSettings = "event_interval=1,max_io_events_per_tick=8".parse().unwrap();
        let expected = TokioSettings {
            event_interval: Some(1),
            global_queue_interval: None,
            max_io_events_per_tick: Some(8),
        };
        assert_eq!(found, expected);
        for wrong in [
            "",
            "event_interval",
            "event_interval=0",
            "event_interval=1000001",
            "event_interval=1,",
            "event_interval=1,event_interval=1",
            "workers=2",
        ] {
            assert!(wrong.parse::<TokioSettings>().is_err(), "{wrong}");
        }
    }

    /// Another version may have other defaults.
    #[test]
    fn the_defaults_are_those_of_the_locked_tokio() {
        let lock = include_str!("../../../../Cargo.lock");
        let locked = lock.split("name = \"tokio\"\nversion = \"").nth(1).expect("tokio is locked");
        assert!(locked.starts_with("1.54."), "read its documentation, and change DEFAULTS");
    }
}
