//! From text to [`Expr`], with names resolved.

use super::super::ir::{Kind, ModuleId, Schema, SchemaId};
use super::tokens::{Token, tokens};
use super::{Comparison, Expr, Function, Path, PathStep, Start};

/// Compiles an expression of `module` (names without prefix are its own) that is evaluated in `context` (`None`: the
/// root).
pub fn compile(
    schema: &Schema,
    module: ModuleId,
    context: Option<SchemaId>,
    text: &str,
) -> Result<Expr, String> {
    let tokens = tokens(text)?;
    let mut parser = Parser { schema, module, current: context, context, tokens: &tokens, depth: 0 };
    let expr = parser.or()?;
    match parser.tokens.first() {
        None => Ok(expr),
        Some(token) => Err(format!("{token:?} is not expected here")),
    }
}

struct Parser<'a> {
    schema: &'a Schema,
    module: ModuleId,
    /// The schema node of `current()`.
    current: Option<SchemaId>,
    /// The schema node of the context.
    context: Option<SchemaId>,
    tokens: &'a [Token],
    depth: usize,
}

impl Parser<'_> {
    fn sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.tokens.first(), Some(Token::Sign(next)) if *next == sign);
        if found {
            self.tokens = &self.tokens[1..];
        }
        found
    }

    fn word(&mut self, word: &str) -> bool {
        let found = matches!(self.tokens.first(), Some(Token::Name(next)) if next == word);
        if found {
            self.tokens = &self.tokens[1..];
        }
        found
    }

    fn expect(&mut self, sign: &str) -> Result<(), String> {
        if self.sign(sign) { Ok(()) } else { Err(format!("expected {sign:?}")) }
    }

    fn or(&mut self) -> Result<Expr, String> {
        self.depth += 1;
        if self.depth > 32 {
            return Err("the expression is nested too deeply".into());
        }
        let mut left = self.and()?;
        while self.word("or") {
            left = Expr::Or(Box::new(left), Box::new(self.and()?));
        }
        self.depth -= 1;
        Ok(left)
    }

    fn and(&mut self) -> Result<Expr, String> {
        let mut left = self.comparison(0)?;
        while self.word("and") {
            left = Expr::And(Box::new(left), Box::new(self.comparison(0)?));
        }
        Ok(left)
    }

    /// Level 0: `=` and `!=`; level 1, which binds tighter: the others.
    fn comparison(&mut self, level: usize) -> Result<Expr, String> {
        const LEVELS: [&[(&str, Comparison)]; 2] = [
            &[("=", Comparison::Equal), ("!=", Comparison::NotEqual)],
            &[
                ("<=", Comparison::LessOrEqual),
                (">=", Comparison::GreaterOrEqual),
                ("<", Comparison::Less),
                (">", Comparison::Greater),
            ],
        ];
        let Some(signs) = LEVELS.get(level) else { return self.primary() };
        let mut left = self.comparison(level + 1)?;
        while let Some((_, comparison)) = signs.iter().find(|(sign, _)| self.sign(sign)) {
            left = Expr::Compare(*comparison, Box::new(left), Box::new(self.comparison(level + 1)?));
        }
        Ok(left)
    }

    fn primary(&mut self) -> Result<Expr, String> {
        match self.tokens {
            [Token::Literal(text), rest @ ..] => {
                self.tokens = rest;
                Ok(Expr::Literal(text.clone()))
            }
            [Token::Number(number), rest @ ..] => {
                self.tokens = rest;
                Ok(Expr::Number(*number))
            }
            [Token::Sign("("), rest @ ..] => {
                self.tokens = rest;
                let inner = self.or()?;
                self.expect(")")?;
                Ok(inner)
            }
            [Token::Name(name), Token::Sign("("), rest @ ..] if name == "current" => {
                self.tokens = rest;
                self.expect(")")?;
                let steps = if self.sign("/") { self.steps(self.current)? } else { Vec::new() };
                Ok(Expr::Path(Path { start: Start::Current, steps }))
            }
            [Token::Name(name), Token::Sign("("), rest @ ..] => {
                self.tokens = rest;
                self.call(name)
            }
            _ => self.path().map(Expr::Path),
        }
    }

    fn call(&mut self, name: &str) -> Result<Expr, String> {
        let (function, count) = match name {
            "not" => (Function::Not, 1),
            "count" => (Function::Count, 1),
            "true" => (Function::True, 0),
            "false" => (Function::False, 0),
            "boolean" => (Function::Boolean, 1),
            "number" => (Function::Number, 1),
            "string" => (Function::String, 1),
            "derived-from" => (Function::DerivedFrom, 2),
            "derived-from-or-self" => (Function::DerivedFromOrSelf, 2),
            "contains" => (Function::Contains, 2),
            "starts-with" => (Function::StartsWith, 2),
            "string-length" => (Function::StringLength, 1),
            _ => return Err(format!("function {name}() is not supported")),
        };
        let mut arguments = Vec::new();
        if !self.sign(")") {
            arguments.push(self.or()?);
            while self.sign(",") {
                arguments.push(self.or()?);
            }
            self.expect(")")?;
        }
        if arguments.len() != count {
            return Err(format!("{name}() takes {count} argument(s), {} given", arguments.len()));
        }
        if function == Function::Count && !matches!(arguments[0], Expr::Path(_)) {
            return Err("count() takes a path".into());
        }
        if matches!(function, Function::DerivedFrom | Function::DerivedFromOrSelf) {
            let (Expr::Path(_), Expr::Literal(identity)) = (&arguments[0], &arguments[1]) else {
                return Err(format!("{name}() takes a path and the literal name of an identity"));
            };
            if find_identity(self.schema, self.module, identity).is_none() {
                return Err(format!("there is no identity {identity:?}"));
            }
        }
        Ok(Expr::Call(function, arguments))
    }

    fn path(&mut self) -> Result<Path, String> {
        if self.sign("/") {
            return Ok(Path { start: Start::Root, steps: self.steps(None)? });
        }
        Ok(Path { start: Start::Context, steps: self.steps(self.context)? })
    }

    fn steps(&mut self, from: Option<SchemaId>) -> Result<Vec<PathStep>, String> {
        let mut at = from;
        let mut steps = Vec::new();
        loop {
            if self.sign("..") {
                let above = at.ok_or("there is nothing above the root")?;
                at = self.schema.node(above).parent;
                steps.push(PathStep::Parent);
            } else if !self.sign(".") {
                let (node, step) = self.child(at)?;
                at = Some(node);
                steps.push(step);
            }
            if !self.sign("/") {
                return Ok(steps);
            }
        }
    }

    fn child(&mut self, at: Option<SchemaId>) -> Result<(SchemaId, PathStep), String> {
        let [Token::Name(name), rest @ ..] = self.tokens else {
            return Err(match self.tokens.first() {
                Some(token) => format!("{token:?} stands where a name should"),
                None => "the expression ends too early".into(),
            });
        };
        self.tokens = rest;
        let node = self.find(at, name)?;
        let mut predicates = Vec::new();
        while self.sign("[") {
            let outside = self.context.replace(node);
            let predicate = self.or()?;
            if predicate.is_number() {
                return Err("positions in brackets are not supported".into());
            }
            predicates.push(predicate);
            self.context = outside;
            self.expect("]")?;
        }
        let keys = self.keys(node, &predicates);
        Ok((node, PathStep::Child { node, predicates, keys }))
    }

    fn find(&self, at: Option<SchemaId>, name: &str) -> Result<SchemaId, String> {
        let schema = self.schema;
        let (prefix, local) = match name.split_once(':') {
            Some((prefix, local)) => (Some(prefix), local),
            None => (None, name),
        };
        let siblings = match at {
            Some(at) => &schema.node(at).children,
            None => &schema.roots,
        };
        let home = |id: &SchemaId| schema.node(*id).module == self.module;
        let fits = |id: &SchemaId| {
            let module = schema.module(schema.node(*id).module);
            prefix.is_some_and(|prefix| *module.prefix == *prefix || *module.name == *prefix)
        };
        let like_parent =
            |id: &SchemaId| at.is_some_and(|at| schema.node(at).module == schema.node(*id).module);
        let named: Vec<SchemaId> =
            siblings.iter().copied().filter(|id| *schema.node(*id).name == *local).collect();
        let found = match prefix {
            Some(_) => named.iter().find(|id| fits(id)),
            None => named.iter().find(|id| home(id)).or_else(|| named.iter().find(|id| like_parent(id))),
        };
        found.copied().ok_or_else(|| {
            let place = at.map_or("the top level".to_owned(), |at| schema.node(at).name.to_string());
            format!("there is no node {name:?} in {place}")
        })
    }

    /// The right sides of `[key=…]` predicates, if they name an entry in full and do not depend on it.
    fn keys(&self, list: SchemaId, predicates: &[Expr]) -> Option<Vec<Expr>> {
        let Kind::List { keys, .. } = &self.schema.node(list).kind else { return None };
        if keys.is_empty() || predicates.len() != keys.len() {
            return None;
        }
        let side = |key: &SchemaId| {
            predicates.iter().find_map(|predicate| match predicate {
                Expr::Compare(Comparison::Equal, left, right) => match (&**left, &**right) {
                    (Expr::Path(Path { start: Start::Context, steps }), right) if independent(right) => {
                        let [PathStep::Child { node, .. }] = &steps[..] else { return None };
                        (node == key).then(|| right.clone())
                    }
                    _ => None,
                },
                _ => None,
            })
        };
        keys.iter().map(side).collect()
    }
}

fn independent(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(_) => true,
        Expr::Path(path) => path.start != Start::Context,
        _ => false,
    }
}

/// An identity as named in a module: `prefix:name`, `module:name` or just `name`.
pub fn find_identity(schema: &Schema, home: ModuleId, name: &str) -> Option<usize> {
    let (prefix, local) = match name.split_once(':') {
        Some((prefix, local)) => (Some(prefix), local),
        None => (None, name),
    };
    schema.identities.iter().position(|identity| {
        let module = schema.module(identity.module);
        let of_module = match prefix {
            Some(prefix) => *module.prefix == *prefix || *module.name == *prefix,
            None => identity.module == home,
        };
        of_module && *identity.name == *local
    })
}
