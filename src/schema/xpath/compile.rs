//! From text to [`Expr`], with names resolved.

use super::super::ir::{Kind, ModuleId, Schema, SchemaId, Type};
use super::super::lexical::type_of;
use super::functions::Function;
use super::steps::At;
use super::tokens::{Token, tokens};
use super::{Arithmetic, Comparison, Expr, Leads, Path, PathStep, Start};

/// Parentheses, brackets and arguments in one another.
const DEEPEST: usize = 32;

/// Compiles an expression of `module` (names without prefix are its own) that is evaluated in `context` (`None`: the
/// root).
pub fn compile(
    schema: &Schema,
    module: ModuleId,
    context: Option<SchemaId>,
    text: &str,
) -> Result<Expr, String> {
    let tokens = tokens(text)?;
    let current = vec![context];
    let mut parser = Parser { schema, module, context: current.clone(), current, tokens: &tokens, depth: 0 };
    let expr = parser.or()?;
    match parser.tokens.first() {
        None => Ok(expr),
        Some(token) => Err(format!("{token:?} is not expected here")),
    }
}

pub(super) struct Parser<'a> {
    pub schema: &'a Schema,
    pub module: ModuleId,
    /// The schema node of `current()`.
    pub current: At,
    /// What the context may be.
    pub context: At,
    pub tokens: &'a [Token],
    pub depth: usize,
}

impl Parser<'_> {
    pub fn sign(&mut self, sign: &str) -> bool {
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

    pub fn expect(&mut self, sign: &str) -> Result<(), String> {
        if self.sign(sign) { Ok(()) } else { Err(format!("expected {sign:?}")) }
    }

    pub fn or(&mut self) -> Result<Expr, String> {
        Ok(self.any()?.0)
    }

    /// Any expression; where it is a set of nodes, what they may be.
    fn any(&mut self) -> Result<(Expr, At), String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("the expression is nested too deeply".into());
        }
        let mut left = self.and()?;
        while self.word("or") {
            left = without(Expr::Or(Box::new(left.0), Box::new(self.and()?.0)));
        }
        self.depth -= 1;
        Ok(left)
    }

    fn and(&mut self) -> Result<(Expr, At), String> {
        let mut left = self.comparison(0)?;
        while self.word("and") {
            left = without(Expr::And(Box::new(left.0), Box::new(self.comparison(0)?.0)));
        }
        Ok(left)
    }

    /// Level 0: `=` and `!=`; level 1, which binds tighter: the others.
    fn comparison(&mut self, level: usize) -> Result<(Expr, At), String> {
        const LEVELS: [&[(&str, Comparison)]; 2] = [
            &[("=", Comparison::Equal), ("!=", Comparison::NotEqual)],
            &[
                ("<=", Comparison::LessOrEqual),
                (">=", Comparison::GreaterOrEqual),
                ("<", Comparison::Less),
                (">", Comparison::Greater),
            ],
        ];
        let Some(signs) = LEVELS.get(level) else { return self.sum() };
        let mut left = self.comparison(level + 1)?;
        while let Some((_, comparison)) = signs.iter().find(|(sign, _)| self.sign(sign)) {
            let right = self.comparison(level + 1)?.0;
            left = without(Expr::Compare(*comparison, Box::new(left.0), Box::new(right)));
        }
        Ok(left)
    }

    fn sum(&mut self) -> Result<(Expr, At), String> {
        let mut left = self.product()?;
        loop {
            let operation = if self.sign("+") {
                Arithmetic::Plus
            } else if self.sign("-") {
                Arithmetic::Minus
            } else {
                return Ok(left);
            };
            left = without(Expr::Arithmetic(operation, Box::new(left.0), Box::new(self.product()?.0)));
        }
    }

    fn product(&mut self) -> Result<(Expr, At), String> {
        let mut left = self.negative()?;
        loop {
            let operation = if self.sign("*") {
                Arithmetic::Times
            } else if self.word("div") {
                Arithmetic::Div
            } else if self.word("mod") {
                Arithmetic::Mod
            } else {
                return Ok(left);
            };
            left = without(Expr::Arithmetic(operation, Box::new(left.0), Box::new(self.negative()?.0)));
        }
    }

    fn negative(&mut self) -> Result<(Expr, At), String> {
        let mut signs = 0;
        while self.sign("-") {
            signs += 1;
        }
        let inner = self.union()?;
        Ok(match signs {
            0 => inner,
            // Also two of them make a number of what was none.
            _ if signs % 2 == 0 => without(Expr::Negative(Box::new(Expr::Negative(Box::new(inner.0))))),
            _ => without(Expr::Negative(Box::new(inner.0))),
        })
    }

    fn union(&mut self) -> Result<(Expr, At), String> {
        let mut left = self.filtered()?;
        while self.sign("|") {
            let right = self.filtered()?;
            if !left.0.is_nodes() || !right.0.is_nodes() {
                return Err("| stands between paths".into());
            }
            let mut at = left.1;
            at.extend(right.1);
            left = (Expr::Union(Box::new(left.0), Box::new(right.0)), at);
        }
        Ok(left)
    }

    /// A primary expression, with predicates and steps behind it where it is a set of nodes; or a path.
    fn filtered(&mut self) -> Result<(Expr, At), String> {
        let Some((primary, at)) = self.primary()? else {
            let (path, at) = self.path()?;
            return Ok((Expr::Path(path), at));
        };
        let more = ["[", "/", "//"].iter().any(|sign| self.tokens.first() == Some(&Token::Sign(sign)));
        if !more {
            return Ok((primary, at));
        }
        if !primary.is_nodes() {
            return Err("a predicate or step stands behind what is no path".into());
        }
        let mut path = match primary {
            Expr::Path(path) if path.steps.is_empty() => path,
            nodes => Path { start: Start::Of(Box::new(nodes)), steps: Vec::new() },
        };
        let predicates = self.predicates(&at)?;
        if !predicates.is_empty() {
            path.steps.push(PathStep::Filter(predicates));
        }
        let at = self.more_steps(at, &mut path.steps)?;
        Ok((Expr::Path(path), at))
    }

    fn primary(&mut self) -> Result<Option<(Expr, At)>, String> {
        let found = match self.tokens {
            [Token::Literal(text), rest @ ..] => {
                self.tokens = rest;
                without(Expr::Literal(text.clone()))
            }
            [Token::Number(number), rest @ ..] => {
                self.tokens = rest;
                without(Expr::Number(*number))
            }
            [Token::Sign("("), rest @ ..] => {
                self.tokens = rest;
                let inner = self.any()?;
                self.expect(")")?;
                inner
            }
            [Token::Name(name), Token::Sign("("), ..] if name == "node" => return Ok(None),
            [Token::Name(name), Token::Sign("("), rest @ ..] if name == "current" => {
                self.tokens = rest;
                self.expect(")")?;
                (Expr::Path(Path { start: Start::Current, steps: Vec::new() }), self.current.clone())
            }
            [Token::Name(name), Token::Sign("("), rest @ ..] => {
                self.tokens = rest;
                self.call(name)?
            }
            _ => return Ok(None),
        };
        Ok(Some(found))
    }

    fn call(&mut self, name: &str) -> Result<(Expr, At), String> {
        let mut arguments = Vec::new();
        if !self.sign(")") {
            arguments.push(self.any()?);
            while self.sign(",") {
                arguments.push(self.any()?);
            }
            self.expect(")")?;
        }
        match (name, &mut arguments[..]) {
            ("deref", [(nodes, at)]) if nodes.is_nodes() => return self.deref(nodes.clone(), at),
            ("deref", _) => return Err("deref() takes a path".into()),
            ("re-match", [(text, _), (Expr::Literal(pattern), _)]) => {
                let regex = regex::Regex::new(&format!("^(?:{pattern})$"))
                    .map_err(|error| format!("{pattern:?} is no pattern: {error}"))?;
                return Ok(without(Expr::Matches(Box::new(text.clone()), regex)));
            }
            ("re-match", _) => return Err("re-match() takes a text and a pattern in quotes".into()),
            _ => {}
        }
        let (function, counts) =
            Function::named(name).ok_or_else(|| format!("function {name}() is not supported"))?;
        if !counts.contains(&arguments.len()) {
            let (least, most) = counts.into_inner();
            let takes = if least == most { least.to_string() } else { format!("{least} to {most}") };
            return Err(format!("{name}() takes {takes} argument(s), {} given", arguments.len()));
        }
        let mut arguments: Vec<Expr> = arguments.into_iter().map(|(argument, _)| argument).collect();
        if arguments.is_empty() && function.means_context() {
            arguments.push(Expr::Path(Path { start: Start::Context, steps: Vec::new() }));
        }
        if function.takes_nodes() && arguments.first().is_some_and(|first| !first.is_nodes()) {
            return Err(format!("{name}() takes a path"));
        }
        if matches!(function, Function::DerivedFrom | Function::DerivedFromOrSelf) {
            let Some(Expr::Literal(identity)) = arguments.get(1) else {
                return Err(format!("{name}() takes a path and the literal name of an identity"));
            };
            if find_identity(self.schema, self.module, identity).is_none() {
                return Err(format!("there is no identity {identity:?}"));
            }
        }
        Ok(without(Expr::Call(function, arguments)))
    }

    /// Where leafs that refer to something lead.
    fn deref(&self, nodes: Expr, at: &At) -> Result<(Expr, At), String> {
        let (mut leads, mut targets) = (Vec::new(), At::new());
        for leaf in at.iter().flatten() {
            if let Some(type_) = type_of(self.schema, *leaf) {
                self.leads(*leaf, type_, &mut leads, &mut targets)?;
            }
        }
        if leads.is_empty() {
            let names = at.iter().flatten().map(|id| format!("{:?}", self.schema.node(*id).name));
            let names: Vec<String> = names.collect();
            return Err(format!(
                "deref() follows leafrefs and instance-identifiers, and {} is none",
                names.join(", ")
            ));
        }
        targets.sort_unstable();
        targets.dedup();
        let start = Start::Deref(Box::new(nodes), leads);
        Ok((Expr::Path(Path { start, steps: Vec::new() }), targets))
    }

    /// Where a leaf of this type leads, and what may be there.
    fn leads(
        &self,
        leaf: SchemaId,
        type_: &Type,
        leads: &mut Vec<(SchemaId, Leads)>,
        targets: &mut At,
    ) -> Result<(), String> {
        let schema = self.schema;
        match type_ {
            Type::LeafRef { target, path, .. } => {
                let Expr::Path(path) = compile(schema, schema.node(leaf).module, Some(leaf), path)? else {
                    return Err(format!("{path:?} is no path"));
                };
                // One in a union has its path alone.
                targets.extend(target.or_else(|| path.target()).map(Some));
                leads.push((leaf, Leads::Along(path)));
            }
            Type::InstanceIdentifier { .. } => {
                leads.push((leaf, Leads::There));
                let data = schema.nodes.iter().map(|node| node.id);
                targets.extend(data.filter(|id| schema.operation_of(*id).is_none()).map(Some));
            }
            Type::Union(members) => {
                for member in members {
                    self.leads(leaf, member, leads, targets)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The right sides of `[key=…]` predicates, if they name an entry in full and do not depend on it.
    pub fn keys(&self, list: SchemaId, predicates: &[Expr]) -> Option<Vec<Expr>> {
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

/// An expression that is no set of nodes.
fn without(expr: Expr) -> (Expr, At) {
    (expr, Vec::new())
}

fn independent(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(_) => true,
        Expr::Path(path) => matches!(path.start, Start::Root | Start::Current),
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
