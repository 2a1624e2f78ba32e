//! A cursor over XML text: elements with their namespaces, text, the end. What data never need is refused: document type
//! definitions and the entities they could define, processing instructions, other encodings than UTF-8.

use std::borrow::Cow;
use std::rc::Rc;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::schema::BodyErrorKind;

/// Elements may be nested so deep, as JSON may.
const MOST_DEPTH: usize = 128;

/// An element may have so many attributes, declarations of namespaces included.
const MOST_ATTRIBUTES: usize = 64;

/// So many namespaces may be declared at one place, else looking them up would cost.
const MOST_NAMESPACES: usize = 256;

/// The namespace of `data`, `errors` and their kin in RFC 8040.
pub const RESTCONF: &str = "urn:ietf:params:xml:ns:yang:ietf-restconf";

/// Why reading stops.
#[derive(Debug)]
pub enum Stop {
    /// Enough faults have been collected.
    Full,
    /// The text is not XML that we read.
    Broken(BodyErrorKind, String),
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Stop::Full => "too many faults",
            Stop::Broken(_, message) => message,
        })
    }
}

impl std::error::Error for Stop {}

impl serde::de::Error for Stop {
    fn custom<T: std::fmt::Display>(_: T) -> Stop {
        Stop::Full
    }
}

fn malformed(reason: impl std::fmt::Display) -> Stop {
    let message =
        format!("the body is not valid XML: {reason}; check that the whole body arrived and is UTF-8");
    Stop::Broken(BodyErrorKind::MalformedMessage, message)
}

/// The start of an element.
pub struct Tag<'t> {
    pub namespace: Option<Rc<str>>,
    start: BytesStart<'t>,
}

impl Tag<'_> {
    pub fn local(&self) -> &str {
        local(self.start.name().into_inner())
    }

    pub fn is(&self, namespace: &str, local: &str) -> bool {
        self.namespace.as_deref() == Some(namespace) && self.local() == local
    }
}

fn local(name: &str) -> &str {
    name.split_once(':').map_or(name, |(_, local)| local)
}

/// An attribute of an element.
pub struct Attribute {
    pub namespace: Option<Rc<str>>,
    pub name: String,
    pub value: String,
}

/// What comes next.
pub enum Step<'t> {
    Start(Tag<'t>),
    Text(Cow<'t, str>),
    End,
    /// The end of the text.
    Finish,
}

/// A part of a text, with the namespaces that hold where it stands: what is inside of an element, for instance.
#[derive(Clone, Debug)]
pub struct Fragment<'t> {
    text: &'t str,
    scope: Vec<Binding>,
}

#[derive(Clone, Debug)]
struct Binding {
    prefix: Option<Box<str>>,
    /// `None`: no namespace (`xmlns=""`).
    namespace: Option<Rc<str>>,
    depth: usize,
}

impl<'t> Fragment<'t> {
    /// A whole document.
    ///
    /// # Errors
    /// Text that is not UTF-8.
    pub fn document(body: &'t [u8]) -> Result<Fragment<'t>, Stop> {
        let text = std::str::from_utf8(body).map_err(malformed)?;
        Ok(Fragment { text: text.strip_prefix('\u{feff}').unwrap_or(text), scope: Vec::new() })
    }

    /// Is there nothing but white space?
    pub fn is_blank(&self) -> bool {
        self.text.trim_ascii().is_empty()
    }
}

/// The cursor.
pub struct Pull<'t> {
    text: &'t str,
    reader: Reader<&'t [u8]>,
    scope: Vec<Binding>,
    depth: usize,
    /// Where the last event began.
    before: usize,
    /// Namespaces of elements deeper than this have ended.
    ended: bool,
}

impl<'t> Pull<'t> {
    pub fn new(fragment: Fragment<'t>) -> Pull<'t> {
        let mut reader = Reader::from_str(fragment.text);
        let config = reader.config_mut();
        config.expand_empty_elements = true;
        config.check_comments = true;
        Pull { text: fragment.text, reader, scope: fragment.scope, depth: 0, before: 0, ended: false }
    }

    /// Goes on to the next element, text or end.
    pub fn step(&mut self) -> Result<Step<'t>, Stop> {
        if std::mem::take(&mut self.ended) {
            let depth = self.depth;
            while self.scope.last().is_some_and(|binding| binding.depth > depth) {
                self.scope.pop();
            }
        }
        loop {
            self.before = self.position();
            match self.reader.read_event().map_err(malformed)? {
                Event::Start(start) => return self.enter(start).map(Step::Start),
                Event::End(_) => {
                    self.depth = self.depth.saturating_sub(1);
                    self.ended = true;
                    return Ok(Step::End);
                }
                Event::Text(text) => return Ok(Step::Text(text.xml10_content())),
                Event::CData(text) => return Ok(Step::Text(text.xml10_content())),
                Event::GeneralRef(reference) => {
                    let named = match &*reference {
                        "lt" => Some('<'),
                        "gt" => Some('>'),
                        "amp" => Some('&'),
                        "quot" => Some('"'),
                        "apos" => Some('\''),
                        _ => reference.resolve_char_ref().map_err(malformed)?,
                    };
                    let Some(character) = named else {
                        let message = format!(
                            "entity &{};: only the five of XML itself are known; write the text",
                            &*reference
                        );
                        return Err(Stop::Broken(BodyErrorKind::MalformedMessage, message));
                    };
                    return Ok(Step::Text(Cow::Owned(character.to_string())));
                }
                Event::Decl(declaration) => {
                    let encoding = declaration.encoding().transpose().map_err(malformed)?;
                    if encoding.is_some_and(|name| !name.eq_ignore_ascii_case("utf-8")) || self.depth > 0 {
                        return Err(malformed("the declaration must say UTF-8, and stand first"));
                    }
                }
                Event::DocType(_) => {
                    return Err(malformed("a document type definition is not allowed; leave it out"));
                }
                Event::PI(_) => {
                    return Err(malformed("processing instructions are not allowed; leave them out"));
                }
                Event::Comment(_) => {}
                Event::Eof if self.depth > 0 => return Err(malformed("it ends inside of an element")),
                Event::Eof => return Ok(Step::Finish),
                Event::Empty(_) => return Err(malformed("an empty element that was not expanded")),
            }
        }
    }

    fn position(&self) -> usize {
        usize::try_from(self.reader.buffer_position()).unwrap_or(usize::MAX)
    }

    fn enter(&mut self, start: BytesStart<'t>) -> Result<Tag<'t>, Stop> {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            let message = format!("the body is nested deeper than {MOST_DEPTH} levels; flatten it");
            return Err(Stop::Broken(BodyErrorKind::TooBig, message));
        }
        for (number, attribute) in start.attributes().enumerate() {
            if number >= MOST_ATTRIBUTES {
                let message = format!("an element has more than {MOST_ATTRIBUTES} attributes");
                return Err(Stop::Broken(BodyErrorKind::TooBig, message));
            }
            let attribute = attribute.map_err(malformed)?;
            let prefix = match attribute.key.into_inner() {
                "xmlns" => None,
                name => match name.strip_prefix("xmlns:") {
                    Some(prefix) => Some(prefix.into()),
                    None => continue,
                },
            };
            let value = attribute.normalized_value(quick_xml::XmlVersion::Implicit1_0).map_err(malformed)?;
            let namespace = (!value.is_empty()).then(|| Rc::from(&*value));
            if self.scope.len() >= MOST_NAMESPACES {
                let message = format!("more than {MOST_NAMESPACES} namespaces are declared at one place");
                return Err(Stop::Broken(BodyErrorKind::TooBig, message));
            }
            self.scope.push(Binding { prefix, namespace, depth: self.depth });
        }
        let namespace = match start.name().into_inner().split_once(':') {
            Some((prefix, _)) => Some(self.declared(prefix)?),
            None => self.namespace(None),
        };
        Ok(Tag { namespace, start })
    }

    /// The namespace of a prefix (`None`: the default one) where the cursor is, or in the element that just ended.
    pub fn namespace(&self, prefix: Option<&str>) -> Option<Rc<str>> {
        let mut bindings = self.scope.iter().rev();
        bindings.find(|binding| binding.prefix.as_deref() == prefix)?.namespace.clone()
    }

    fn declared(&self, prefix: &str) -> Result<Rc<str>, Stop> {
        if prefix == "xml" {
            return Ok(Rc::from("http://www.w3.org/XML/1998/namespace"));
        }
        self.namespace(Some(prefix)).ok_or_else(|| {
            let message = format!("prefix {prefix:?} is not declared; add xmlns:{prefix}=\"…\"");
            Stop::Broken(BodyErrorKind::UnknownNamespace, message)
        })
    }

    /// The attributes of an element, without the declarations of namespaces.
    pub fn attributes(&self, tag: &Tag<'t>) -> Result<Vec<Attribute>, Stop> {
        let mut found = Vec::new();
        for attribute in tag.start.attributes() {
            let attribute = attribute.map_err(malformed)?;
            let name = attribute.key.into_inner();
            if name == "xmlns" || name.starts_with("xmlns:") {
                continue;
            }
            let namespace = match name.split_once(':') {
                Some((prefix, _)) => Some(self.declared(prefix)?),
                None => None,
            };
            let value = attribute.normalized_value(quick_xml::XmlVersion::Implicit1_0).map_err(malformed)?;
            found.push(Attribute { namespace, name: local(name).to_owned(), value: value.into_owned() });
        }
        Ok(found)
    }

    /// Goes on to the next child element, over white space; `None` at the end of the parent or of the text.
    ///
    /// # Errors
    /// Text between elements.
    pub fn child(&mut self) -> Result<Option<Tag<'t>>, Stop> {
        loop {
            match self.step()? {
                Step::Start(tag) => return Ok(Some(tag)),
                Step::End | Step::Finish => return Ok(None),
                Step::Text(text) if text.trim_ascii().is_empty() => {}
                Step::Text(_) => return Err(malformed("there is text between elements")),
            }
        }
    }

    /// The text of the element just entered; leaves it. `None`: there are elements in it.
    pub fn text(&mut self) -> Result<Option<Cow<'t, str>>, Stop> {
        let mut all: Cow<'t, str> = Cow::Borrowed("");
        let mut elements = false;
        loop {
            match self.step()? {
                Step::Text(text) if all.is_empty() => all = text,
                Step::Text(text) => all.to_mut().push_str(&text),
                Step::Start(_) => {
                    elements = true;
                    self.skip()?;
                }
                Step::End | Step::Finish => return Ok((!elements).then_some(all)),
            }
        }
    }

    /// Leaves the element just entered, whatever is in it.
    pub fn skip(&mut self) -> Result<(), Stop> {
        let outside = self.depth.saturating_sub(1);
        while self.depth > outside {
            if let Step::Finish = self.step()? {
                break;
            }
        }
        Ok(())
    }

    /// What is inside of the element just entered, to be read later; leaves it.
    pub fn inside(&mut self) -> Result<Fragment<'t>, Stop> {
        let (start, scope) = (self.position(), self.scope.clone());
        let scope = scope.into_iter().map(|binding| Binding { depth: 0, ..binding }).collect();
        self.skip()?;
        let text = self.text.get(start..self.before).unwrap_or_default();
        Ok(Fragment { text, scope })
    }
}
