//! `wait=programmed`: a write is answered when the switches have it, or when its patience ends.

mod actor;
mod report;
mod written;

use std::time::Duration;

pub use self::actor::Switches;
pub(super) use self::actor::watched;
pub(super) use self::report::Report;
pub(super) use self::written::Written;
use axum::http::StatusCode;

use super::{App, Problem, Problems};

/// Patience of who does not say.
const USUAL: Duration = Duration::from_secs(30);
/// A request as a whole has to end so long before its own bound.
const MARGIN: Duration = Duration::from_secs(5);

/// How long a write may wait for the switches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    pub patience: Duration,
}

/// What a query says of waiting, word by word.
#[derive(Default)]
pub(super) struct Asked<'a> {
    pub wait: Option<&'a str>,
    pub timeout: Option<Option<Duration>>,
}

impl Asked<'_> {
    /// # Errors
    /// When it is said wrongly, or one word without the other.
    pub fn wait(self, app: &App) -> Result<Option<Wait>, Problems> {
        if self.wait.is_some() && app.switches.is_none() {
            let message = "wait: no switches are programmed here";
            let problem = Problem::new("operation-not-supported", message);
            return Err(problem.with_status(StatusCode::NOT_IMPLEMENTED).into());
        }
        let wrong = |message: String| Problems::from(Problem::new("invalid-value", message));
        let longest = app.limits.request_time().saturating_sub(MARGIN);
        let patience = match (self.wait, self.timeout) {
            (None, None) => return Ok(None),
            (None, Some(_)) => return Err(wrong("timeout bounds wait=programmed; give both".into())),
            (Some("programmed"), None) => USUAL.min(longest),
            (Some("programmed"), Some(Some(patience))) if !patience.is_zero() && patience <= longest => {
                patience
            }
            (Some("programmed"), Some(_)) => {
                let longest = longest.as_secs();
                return Err(wrong(format!(
                    "timeout: say how long, as 5s or 1m; at most {longest}s (a request ends at the limit request-seconds)"
                )));
            }
            (Some(_), _) => return Err(wrong("wait: say wait=programmed".into())),
        };
        Ok(Some(Wait { patience }))
    }
}
