//! JSON texts one behind the other, cut at the end of each top-level object.

/// Longest message that is taken: a full dump of a large database is a few megabytes.
const LIMIT: usize = 64 << 20;

/// The peer sends something that is no JSON-RPC.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    #[error("an OVSDB message of more than {LIMIT} bytes")]
    TooLong,
    #[error("not an OVSDB peer: a message starts with byte {0:#04x} instead of an opening brace")]
    NotJson(u8),
}

/// Finds the ends of messages; goes on where it stopped when more bytes come.
#[derive(Debug, Default)]
pub struct Framer {
    buffer: Vec<u8>,
    /// Bytes looked at already.
    scanned: usize,
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Framer {
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole message, `None` until more bytes come.
    ///
    /// # Errors
    /// When the stream is no JSON-RPC; nothing behind that can be trusted.
    pub fn next_message(&mut self) -> Result<Option<Vec<u8>>, FrameError> {
        let mut blank = 0;
        while self.scanned < self.buffer.len() {
            let byte = self.buffer[self.scanned];
            self.scanned += 1;
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' if self.depth > 0 => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' | b'[' if self.depth > 0 || byte == b'{' => self.depth += 1,
                b'}' | b']' if self.depth > 0 => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        let rest = self.buffer.split_off(self.scanned);
                        self.scanned = 0;
                        let mut message = std::mem::replace(&mut self.buffer, rest);
                        message.drain(..blank);
                        return Ok(Some(message));
                    }
                }
                b' ' | b'\n' | b'\r' | b'\t' if self.depth == 0 => blank = self.scanned,
                other if self.depth == 0 => return Err(FrameError::NotJson(other)),
                _ => {}
            }
        }
        self.buffer.drain(..blank);
        self.scanned -= blank;
        if self.buffer.len() > LIMIT { Err(FrameError::TooLong) } else { Ok(None) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Messages come out as they went in, however the stream was cut.
        #[test]
        fn cuts_do_not_matter(texts in prop::collection::vec("[a-z\\\\\"{}\\[\\] ]{0,12}", 1..6), cut in 1_usize..9) {
            let messages: Vec<Vec<u8>> = texts.iter().map(|text| serde_json::json!({"a": [text, {"b": text}]}).to_string().into_bytes()).collect();
            let stream: Vec<u8> = messages.join(&b"\n"[..]);
            let mut framer = Framer::default();
            let mut found = Vec::new();
            for piece in stream.chunks(cut) {
                framer.push(piece);
                while let Some(message) = framer.next_message().unwrap() {
                    found.push(message);
                }
            }
            prop_assert_eq!(found, messages);
        }

        #[test]
        fn noise_never_panics(noise in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut framer = Framer::default();
            framer.push(&noise);
            while let Ok(Some(_)) = framer.next_message() {}
        }
    }

    #[test]
    fn blanks_between_messages_cost_nothing() {
        let mut framer = Framer::default();
        let blanks = vec![b'\n'; 4 << 20];
        framer.push(&blanks);
        assert_eq!(framer.next_message(), Ok(None));
        framer.push(b" {} \t {");
        assert_eq!(framer.next_message(), Ok(Some(b"{}".to_vec())));
        assert_eq!(framer.next_message(), Ok(None));
        framer.push(b"} ");
        assert_eq!(framer.next_message(), Ok(Some(b"{}".to_vec())));
        assert_eq!(framer.buffer, b" ");
    }

    #[test]
    fn what_is_no_json_is_refused() {
        let mut framer = Framer::default();
        framer.push(b"GET / HTTP/1.1\r\n");
        assert_eq!(framer.next_message(), Err(FrameError::NotJson(b'G')));
    }
}
