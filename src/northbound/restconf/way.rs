//! What becomes of a write, from its query: it is carried out, carried out for a while, or only planned; and when it is answered.

use std::time::{Duration, Instant, SystemTime};

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, header};

use super::wait::{self, Report, Wait, Written};
use super::{App, Problem, Problems, media};
use crate::datastore::{Committed, DatastoreError, Planned, Transaction};
use crate::northbound::rpcs::plan;
use crate::revisions::confirm;

/// Names a commit that waits to be confirmed.
const CONFIRM: HeaderName = HeaderName::from_static("coeus-confirm");
/// A commit waits at most so long.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// So often a confirmed commit starts anew when somebody writes meanwhile.
const ATTEMPTS: usize = 5;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Way {
    pub fate: Fate,
    /// The answer waits for the switches.
    pub wait: Option<Wait>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fate {
    Commit,
    /// `dry-run=flows`.
    DryRun,
    /// `confirm=60s`: goes back by itself unless it is confirmed.
    Confirm {
        id: String,
        until: SystemTime,
    },
}

/// A write that was carried out, and how far the switches are if that was waited for.
pub struct Carried {
    pub committed: Committed,
    pub report: Option<Report>,
}

/// The way that a query names, and the rest of the query.
///
/// # Errors
/// When it names it wrongly or twice.
pub fn of(app: &App, query: Option<&str>) -> Result<(Way, Option<String>), Problems> {
    let wrong = |message: &str| Problems::from(Problem::new("invalid-value", message));
    let mut fate = Fate::Commit;
    let mut asked = wait::Asked::default();
    let mut rest = Vec::new();
    for pair in query.into_iter().flat_map(|query| query.split('&')) {
        let next = match pair.split_once('=').unwrap_or((pair, "")) {
            ("dry-run", "flows") => Fate::DryRun,
            ("dry-run", _) => return Err(wrong("dry-run: say dry-run=flows")),
            ("confirm", time) => {
                let time = duration(time).filter(|time| !time.is_zero() && *time <= LONGEST);
                let time =
                    time.ok_or_else(|| wrong("confirm: say how long, as 60s, 5m or 1h; at most 24h"))?;
                let now = SystemTime::now();
                Fate::Confirm { id: confirm::fresh_id(now), until: now + time }
            }
            ("wait", what) => {
                if asked.wait.replace(what).is_some() {
                    return Err(wrong("the query parameter wait is given twice"));
                }
                continue;
            }
            ("timeout", time) => {
                if asked.timeout.replace(duration(time)).is_some() {
                    return Err(wrong("the query parameter timeout is given twice"));
                }
                continue;
            }
            _ => {
                rest.push(pair);
                continue;
            }
        };
        if fate != Fate::Commit {
            return Err(wrong("give one of dry-run and confirm, once"));
        }
        fate = next;
    }
    let wait = asked.wait(app)?;
    if wait.is_some() && fate == Fate::DryRun {
        return Err(wrong("a dry run has nothing to wait for: give dry-run or wait"));
    }
    Ok((Way { fate, wait }, (!rest.is_empty()).then(|| rest.join("&"))))
}

/// A number with a unit: `60s`, `5m`, `1h`.
fn duration(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let number: u32 = number.parse().ok()?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return None,
    };
    Some(Duration::from_secs(u64::from(number) * seconds))
}

impl Way {
    /// Carries a transaction out, and waits as long as the query says.
    ///
    /// # Errors
    /// Whatever the datastore refuses.
    pub async fn commit(&self, app: &App, transaction: Transaction) -> Result<Carried, DatastoreError> {
        let started = Instant::now();
        let (Some(wait), Some(switches)) = (self.wait, &app.switches) else {
            return Ok(Carried { committed: self.carry_out(app, transaction).await?, report: None });
        };
        let written = Written::of(app.datastore.running().schema, &transaction.edits);
        let committed = self.carry_out(app, transaction).await?;
        let report = wait::watched(app, &**switches, wait, &written, &committed, started).await;
        Ok(Carried { committed, report: Some(report) })
    }

    async fn carry_out(&self, app: &App, transaction: Transaction) -> Result<Committed, DatastoreError> {
        let Fate::Confirm { id, until } = &self.fate else { return app.datastore.commit(transaction).await };
        let mut attempt = 0;
        loop {
            let snapshot = app.datastore.running();
            let guarded = match confirm::guarded(&snapshot, transaction.clone(), id, *until) {
                Ok(guarded) => guarded,
                Err(error) => {
                    // Whether it may be tried at all is told before what is there.
                    app.datastore.plan(transaction).await?;
                    return Err(error);
                }
            };
            attempt += 1;
            match app.datastore.commit(guarded.unwrap_or_else(|| transaction.clone())).await {
                Err(DatastoreError::Conflict { .. }) if transaction.base.is_none() && attempt < ATTEMPTS => {}
                outcome => return outcome,
            }
        }
    }

    /// Says in the answer to a write what it waits for, if it does.
    pub fn tell(&self, app: &App, response: &mut Response<Body>) {
        let Fate::Confirm { id, .. } = &self.fate else { return };
        let waits = confirm::pending(&app.datastore.running()).iter().any(|pending| pending.id == *id);
        if let (true, Ok(value)) = (waits, HeaderValue::from_str(id)) {
            response.headers_mut().insert(CONFIRM, value);
        }
    }
}

/// The answer to a dry run: what would happen. It is JSON whatever is accepted.
pub fn planned(planned: &Planned) -> Response<Body> {
    let body = serde_json::json!({ "coeus-explain:plan": plan::json(planned) }).to_string();
    let mut response = Response::new(Body::from(body));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media::YANG_JSON.name));
    response
}
