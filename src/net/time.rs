use std::time::SystemTime;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A time as people and YANG write it (RFC 3339, RFC 6991 `date-and-time`), in UTC and whole seconds.
pub fn timestamp(time: SystemTime) -> String {
    OffsetDateTime::from(time)
        .replace_nanosecond(0)
        .ok()
        .and_then(|time| time.format(&Rfc3339).ok())
        .unwrap_or_default()
}

/// What [`timestamp`] wrote, or any other time as RFC 3339 has them.
pub fn parse_timestamp(text: &str) -> Option<SystemTime> {
    OffsetDateTime::parse(text, &Rfc3339).ok().map(SystemTime::from)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn seconds_are_whole_and_the_zone_is_utc() {
        let time = SystemTime::UNIX_EPOCH + Duration::from_millis(86_400_500);
        assert_eq!(timestamp(time), "1970-01-02T00:00:00Z");
        assert_eq!(parse_timestamp("1970-01-02T00:00:00Z"), Some(time - Duration::from_millis(500)));
        assert_eq!(parse_timestamp("yesterday"), None);
    }
}
