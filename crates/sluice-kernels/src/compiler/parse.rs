//! From text to a tree: tokens, and a parser by recursive descent.

use super::super::{Array, Recorder};
use super::source::{Op, PARAMETERS, VARIABLES};

/// No node.
pub(super) const NONE: u32 = u32::MAX;

/// A character: its class, a branch, the next.
const CHARACTER: u32 = 3;
/// A token: hash of a name, value of a number, dispatch.
const TOKEN: u32 = 15;
/// A node: allocation, type, fields.
const NODE: u32 = 25;
/// Looking for a name: hash, compare.
const LOOK_UP: u32 = 12;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Number,
    Variable,
    Binary,
    Call,
    Assign,
    If,
    While,
    Return,
}

/// A node of the tree. Statements of a block, and arguments of a call, are joined by `next`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) op: Op,
    /// A number, a variable, or the function called.
    pub(super) value: u32,
    pub(super) kids: [u32; 3],
    pub(super) next: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Number(u32),
    Name(&'a str),
    Symbol(&'a str),
    End,
}

/// Where text, tree and symbols are.
#[derive(Clone, Copy)]
pub(super) struct Places {
    pub(super) text: Array,
    pub(super) nodes: Array,
    pub(super) symbols: Array,
}

pub(super) struct Parser<'a, 'r, 'o> {
    text: &'a str,
    at: usize,
    token: Token<'a>,
    names: Vec<&'a str>,
    nodes: Vec<Node>,
    places: Places,
    rec: &'r mut Recorder<'o>,
}

/// The tree of a function, its body first of all; the parser trusts its source, which it shares
/// with nobody.
pub(super) fn parse(text: &str, places: Places, rec: &mut Recorder) -> (Vec<Node>, u32) {
    let mut parser = Parser {
        text,
        at: 0,
        token: Token::End,
        names: Vec::with_capacity(VARIABLES),
        nodes: Vec::new(),
        places,
        rec,
    };
    parser.advance();
    let body = parser.function();
    (parser.nodes, body)
}

impl<'a> Parser<'a, '_, '_> {
    /// Reads the next token.
    fn advance(&mut self) -> Token<'a> {
        let before = self.token;
        let from = self.at;
        let rest = self.text[from..].trim_start();
        let start = self.text.len() - rest.len();
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let len = match rest.chars().next() {
            None => 0,
            Some(first) if word(first) => rest.find(|c| !word(c)).unwrap_or(rest.len()),
            Some(_) if rest.starts_with("==") => 2,
            Some(_) => 1,
        };
        let (token, _) = rest.split_at(len);
        self.at = start + len;
        for place in (from / 8 * 8..self.at).step_by(8) {
            self.rec.load(self.places.text.at(place as u64));
        }
        self.rec.work(CHARACTER * (self.at - from) as u32 + TOKEN);
        self.token = match token.as_bytes().first() {
            None => Token::End,
            Some(b'0'..=b'9') => Token::Number(token.parse().expect("digits")),
            Some(first) if word(char::from(*first)) => Token::Name(token),
            Some(_) => Token::Symbol(token),
        };
        before
    }

    fn expect(&mut self, text: &str) {
        let token = self.advance();
        assert!(
            token == Token::Symbol(text) || token == Token::Name(text),
            "{token:?} for {text}"
        );
    }

    fn name(&mut self) -> &'a str {
        match self.advance() {
            Token::Name(name) => name,
            other => panic!("{other:?} for a name"),
        }
    }

    /// A variable's number; a name that is new is a new one.
    fn variable(&mut self, name: &'a str) -> u32 {
        let known = self.names.iter().position(|known| *known == name);
        let number = known.unwrap_or(self.names.len());
        let slot = self.places.symbols.at(number as u64);
        self.rec.work(LOOK_UP);
        self.rec.load(slot);
        if known.is_none() {
            self.names.push(name);
            self.rec.store(slot);
        }
        number as u32
    }

    fn node(&mut self, kind: Kind, op: Op, value: u32, kids: [u32; 3]) -> u32 {
        let number = self.nodes.len() as u32;
        self.rec.work(NODE);
        self.rec.store(self.places.nodes.at(number.into()));
        self.nodes.push(Node {
            kind,
            op,
            value,
            kids,
            next: NONE,
        });
        number
    }

    fn join(&mut self, before: u32, next: u32) {
        self.rec.store(self.places.nodes.at(before.into()));
        self.nodes[before as usize].next = next;
    }

    fn function(&mut self) -> u32 {
        self.expect("function");
        self.name();
        self.expect("(");
        for parameter in 0..PARAMETERS {
            if parameter > 0 {
                self.expect(",");
            }
            let name = self.name();
            self.variable(name);
        }
        self.expect(")");
        self.block()
    }

    fn block(&mut self) -> u32 {
        self.expect("{");
        let (mut first, mut last) = (NONE, NONE);
        while self.token != Token::Symbol("}") {
            let statement = self.statement();
            if last == NONE {
                first = statement;
            } else {
                self.join(last, statement);
            }
            last = statement;
        }
        self.expect("}");
        first
    }

    fn statement(&mut self) -> u32 {
        let name = self.name();
        match name {
            "return" => {
                let value = self.expression(0);
                self.expect(";");
                self.node(Kind::Return, Op::Or, 0, [value, NONE, NONE])
            }
            "if" | "while" => {
                self.expect("(");
                let condition = self.expression(0);
                self.expect(")");
                let body = self.block();
                if name == "while" {
                    return self.node(Kind::While, Op::Or, 0, [condition, body, NONE]);
                }
                self.expect("else");
                let other = self.block();
                self.node(Kind::If, Op::Or, 0, [condition, body, other])
            }
            name => {
                let variable = self.variable(name);
                self.expect("=");
                let value = self.expression(0);
                self.expect(";");
                self.node(Kind::Assign, Op::Or, variable, [value, NONE, NONE])
            }
        }
    }

    /// Operands and operators that bind at least so tightly.
    fn expression(&mut self, binds: u8) -> u32 {
        let mut left = self.operand();
        loop {
            let operator = Op::ALL
                .iter()
                .find(|(_, text, _)| self.token == Token::Symbol(text));
            let Some((op, _, own)) = operator.filter(|(.., own)| *own >= binds.max(1)) else {
                return left;
            };
            self.advance();
            let right = self.expression(own + 1);
            left = self.node(Kind::Binary, *op, 0, [left, right, NONE]);
        }
    }

    fn operand(&mut self) -> u32 {
        match self.advance() {
            Token::Number(value) => self.node(Kind::Number, Op::Or, value, [NONE; 3]),
            Token::Symbol("(") => {
                let inner = self.expression(0);
                self.expect(")");
                inner
            }
            Token::Name(name) if self.token == Token::Symbol("(") => self.call(name),
            Token::Name(name) => {
                let variable = self.variable(name);
                self.node(Kind::Variable, Op::Or, variable, [NONE; 3])
            }
            other => panic!("{other:?} for an operand"),
        }
    }

    fn call(&mut self, name: &str) -> u32 {
        let callee = name[1..].parse().expect("functions have numbers");
        self.expect("(");
        let mut arguments = [NONE; PARAMETERS];
        for (index, argument) in arguments.iter_mut().enumerate() {
            if index > 0 {
                self.expect(",");
            }
            *argument = self.expression(0);
        }
        self.expect(")");
        self.node(Kind::Call, Op::Or, callee, arguments)
    }
}
