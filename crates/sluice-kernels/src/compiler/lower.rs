//! From a tree to three-address code: constants folded, common expressions of a block found once.

use super::super::{Array, Loaded, Recorder};
use super::parse::{Kind, NONE, Node};
use super::source::{Op, PARAMETERS, VARIABLES};
use std::collections::BTreeMap;

/// An instruction: fields, uses, list.
const EMIT: u32 = 40;
/// A node: dispatch, flags.
const VISIT: u32 = 25;
/// Looking for an expression: hash, compare.
const HASH: u32 = 20;

/// A value: a variable, or what an instruction computed.
pub(super) type Value = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Number(i64),
    Copy,
    Binary(Op),
    Call(u32),
    /// Goes to a label if its operand is zero.
    Unless(u32),
    Jump(u32),
    Label(u32),
    Return,
}

/// An instruction: what it computes, from up to three values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ir {
    pub(super) what: What,
    pub(super) to: Value,
    pub(super) from: [Value; PARAMETERS],
}

pub(super) struct Lowering<'a, 'r, 'o> {
    nodes: &'a [Node],
    nodes_at: Array,
    code_at: Array,
    table_at: Array,
    code: Vec<Ir>,
    values: Value,
    labels: u32,
    /// How often each variable was assigned.
    versions: [u32; VARIABLES],
    /// What this block has computed: an operator and its operands, with their versions.
    known: BTreeMap<(Op, [(Value, u32); 2]), Value>,
    numbers: BTreeMap<Value, i64>,
    rec: &'r mut Recorder<'o>,
}

/// Three-address code of a function's tree, and how many values it has.
pub(super) fn lower(
    nodes: &[Node],
    body: u32,
    [nodes_at, code_at, table_at]: [Array; 3],
    rec: &mut Recorder,
) -> (Vec<Ir>, Value) {
    let mut lowering = Lowering {
        nodes,
        nodes_at,
        code_at,
        table_at,
        code: Vec::new(),
        values: VARIABLES as Value,
        labels: 0,
        versions: [0; VARIABLES],
        known: BTreeMap::new(),
        numbers: BTreeMap::new(),
        rec,
    };
    lowering.block(body, None);
    (lowering.code, lowering.values)
}

impl Lowering<'_, '_, '_> {
    fn emit(&mut self, what: What, to: Value, from: [Value; PARAMETERS]) {
        self.rec.work(EMIT);
        self.rec.store(self.code_at.at(self.code.len() as u64));
        self.code.push(Ir { what, to, from });
    }

    fn fresh(&mut self) -> Value {
        self.values += 1;
        self.values - 1
    }

    fn label(&mut self) -> u32 {
        self.labels += 1;
        self.labels - 1
    }

    /// A label is the end of what is known.
    fn place(&mut self, label: u32) {
        self.known.clear();
        self.emit(What::Label(label), NONE, [NONE; 3]);
    }

    /// A node, and the load of it, which comes after that of the node that points to it.
    fn node(&mut self, number: u32, before: Option<Loaded>) -> (Node, Loaded) {
        let addr = self.nodes_at.at(number.into());
        let loaded = match before {
            Some(before) => self.rec.load_after(addr, before),
            None => self.rec.load(addr),
        };
        self.rec.work(VISIT);
        (self.nodes[number as usize], loaded)
    }

    fn block(&mut self, first: u32, before: Option<Loaded>) {
        let (mut at, mut before) = (first, before);
        while at != NONE {
            let (node, loaded) = self.node(at, before);
            self.statement(&node, loaded);
            (at, before) = (node.next, Some(loaded));
        }
    }

    fn statement(&mut self, node: &Node, loaded: Loaded) {
        let [first, second, third] = node.kids;
        match node.kind {
            Kind::Assign => {
                let value = self.value(first, loaded);
                self.emit(What::Copy, node.value, [value, NONE, NONE]);
                self.versions[node.value as usize] += 1;
            }
            Kind::Return => {
                let value = self.value(first, loaded);
                self.emit(What::Return, NONE, [value, NONE, NONE]);
            }
            Kind::If => {
                let [other, end] = [self.label(), self.label()];
                let condition = self.value(first, loaded);
                self.emit(What::Unless(other), NONE, [condition, NONE, NONE]);
                self.block(second, Some(loaded));
                self.emit(What::Jump(end), NONE, [NONE; 3]);
                self.place(other);
                self.block(third, Some(loaded));
                self.place(end);
            }
            Kind::While => {
                let [again, end] = [self.label(), self.label()];
                self.place(again);
                let condition = self.value(first, loaded);
                self.emit(What::Unless(end), NONE, [condition, NONE, NONE]);
                self.block(second, Some(loaded));
                self.emit(What::Jump(again), NONE, [NONE; 3]);
                self.place(end);
            }
            kind => unreachable!("{kind:?} is no statement"),
        }
    }

    fn value(&mut self, number: u32, before: Loaded) -> Value {
        let (node, loaded) = self.node(number, Some(before));
        match node.kind {
            Kind::Number => self.number(node.value.into()),
            Kind::Variable => node.value,
            Kind::Call => {
                let arguments = node.kids.map(|kid| self.value(kid, loaded));
                let to = self.fresh();
                self.emit(What::Call(node.value), to, arguments);
                to
            }
            Kind::Binary => {
                let [a, b, _] = node.kids;
                let [a, b] = [a, b].map(|kid| self.value(kid, loaded));
                self.binary(node.op, a, b)
            }
            kind => unreachable!("{kind:?} is no value"),
        }
    }

    fn number(&mut self, number: i64) -> Value {
        let to = self.fresh();
        self.numbers.insert(to, number);
        self.emit(What::Number(number), to, [NONE; 3]);
        to
    }

    fn binary(&mut self, op: Op, a: Value, b: Value) -> Value {
        if let (Some(a), Some(b)) = (self.numbers.get(&a), self.numbers.get(&b)) {
            return self.number(op.apply(*a, *b));
        }
        let version = |value: Value| self.versions.get(value as usize).copied().unwrap_or(0);
        let key = (op, [a, b].map(|value| (value, version(value))));
        self.rec.work(HASH);
        let bucket = (u64::from(a) * 31 + u64::from(b) * 7 + op as u64) % 256;
        self.rec.load(self.table_at.at(bucket));
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let to = self.fresh();
        self.rec.store(self.table_at.at(bucket));
        self.known.insert(key, to);
        self.emit(What::Binary(op), to, [a, b, NONE]);
        to
    }
}
