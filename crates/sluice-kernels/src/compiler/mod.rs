//! A compiler at work on a long text: a stand-in for gcc of SPEC CPU2017.
//!
//! SPEC CPU2017 may not be redistributed, neither its programs nor traces of them. This kernel does
//! on a small scale what gcc does. It reads a translation unit of some thousand functions and keeps
//! the tree of the whole unit. Then it compiles function by function: three-address code with
//! constants folded and common expressions found once, liveness by passes that go on until nothing
//! changes, dead code left out, registers by linear scan, machine code. It walks memory as a
//! compiler does: text in order, trees by their pointers in the order in which they were built, an
//! instruction list over and over, and small tables that stay in the caches. A round compiles the
//! unit once.
//!
//! The language has numbers, variables, operators, conditions, loops and calls. The text is made
//! up from the seed, and what a function returns is known from how it was made, so that the check
//! holds lexer, parser, optimiser and code generator against it at once.

mod emit;
mod lower;
mod parse;
mod source;

use super::series::bytes;
use super::share::Share;
use super::{Arena, Array, Kernel, KernelInfo, KernelOptions, Recorder};
use crate::Mismatch;
use emit::Compiled;
use parse::{Node, Places};
use sluice_host::{Instr, Program, Step};
use sluice_params::Param;
use sluice_units::Bytes;

/// Bytes of a node, an instruction, a machine's instruction, a symbol, an entry of a table.
const NODE_BYTES: u64 = 48;
const IR_BYTES: u64 = 32;
const CODE_BYTES: u64 = 8;
const SYMBOL_BYTES: u64 = 32;
const TABLE_BYTES: u64 = 16;
/// Instructions, symbols and entries that a thread has room for.
const IR_MAX: u64 = 8192;
const SYMBOLS: u64 = 64;
const TABLE: u64 = 256;
/// Functions that a thread takes at once.
const CHUNK: u64 = 4;
/// Functions that a check runs at most, and values given to each.
const CHECKED: usize = 512;
const ARGUMENTS: [[i64; source::PARAMETERS]; 2] = [[1, 2, 3], [-7, 1_000, 42]];

const PARAMS: &[Param] = &[bytes(
    "64MB",
    "assumed: gcc of SPEC CPU2017 has some hundred MB to some GB",
)];

pub(super) const INFO: KernelInfo = KernelInfo {
    name: "compiler",
    meaning: "compiles functions of made-up text, a whole unit's trees in memory",
    source: "ESF section IV, in place of gcc of SPEC CPU2017",
    published: None,
    thread_bytes: |_| 0,
    own_bytes: |_, bytes, _| bytes / 10 * 3,
    params: PARAMS,
    make: |options| Box::new(Compiler::new(options)),
};

/// A function of the unit.
struct Function {
    text: String,
    /// Where its text, tree and code begin.
    text_at: u64,
    nodes_at: u64,
    code_at: u64,
    nodes: Vec<Node>,
    body: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Parse,
    Compile,
}

struct Compiler {
    options: KernelOptions,
    functions: Vec<Function>,
    compiled: Vec<Compiled>,
    text: Array,
    nodes: Array,
    code: Array,
    /// Each thread's instructions, symbols and table.
    lists: Array,
    symbols: Array,
    tables: Array,
    phase: Phase,
    share: Share,
    rounds: u64,
    ended: bool,
    footprint: Bytes,
}

impl Compiler {
    fn new(options: &KernelOptions) -> Compiler {
        let (mut functions, mut ends) = (Vec::new(), [0; 3]);
        let bytes = |[text, nodes, code]: [u64; 3]| text + nodes * NODE_BYTES + code * CODE_BYTES;
        // Sizes are known when each function has been compiled once.
        while bytes(ends) < options.bytes() || functions.len() < 8 {
            let number = functions.len() as u32;
            let text = source::print(&source::function(options.seed, number));
            let nowhere = Arena::default().array(1, 1);
            let mut unread = Vec::new();
            let mut rec = Recorder::new(&mut unread);
            let (nodes, body) = parse::parse(&text, places([nowhere; 3]), &mut rec);
            let (code, values) = lower::lower(&nodes, body, [nowhere; 3], &mut rec);
            let len = emit::emit(code, values, [nowhere; 2], &mut rec).code.len();
            let own = [text.len(), nodes.len(), len].map(|len| len as u64);
            functions.push(Function {
                text,
                text_at: ends[0],
                nodes_at: ends[1],
                code_at: ends[2],
                nodes: Vec::new(),
                body: parse::NONE,
            });
            for (end, own) in ends.iter_mut().zip(own) {
                *end += own;
            }
        }
        let mut arena = Arena::default();
        let threads = u64::from(options.threads);
        let len = functions.len();
        Compiler {
            options: options.clone(),
            text: arena.array(ends[0], 1),
            nodes: arena.array(ends[1], NODE_BYTES),
            code: arena.array(ends[2], CODE_BYTES),
            lists: arena.array(threads * IR_MAX, IR_BYTES),
            symbols: arena.array(threads * SYMBOLS, SYMBOL_BYTES),
            tables: arena.array(threads * TABLE, TABLE_BYTES),
            phase: Phase::Parse,
            share: Share::new(options.threads, len as u64, CHUNK),
            rounds: 0,
            ended: false,
            compiled: vec![Compiled::default(); len],
            functions,
            footprint: arena.footprint(),
        }
    }

    fn parse(&mut self, rec: &mut Recorder, thread: u64, number: usize) {
        let function = &mut self.functions[number];
        let places = places([
            self.text.from(function.text_at),
            self.nodes.from(function.nodes_at),
            self.symbols.from(thread * SYMBOLS),
        ]);
        (function.nodes, function.body) = parse::parse(&function.text, places, rec);
    }

    fn compile(&mut self, rec: &mut Recorder, thread: u64, number: usize) {
        let function = &self.functions[number];
        let list = self.lists.from(thread * IR_MAX);
        let places = [
            self.nodes.from(function.nodes_at),
            list,
            self.tables.from(thread * TABLE),
        ];
        let (code, values) = lower::lower(&function.nodes, function.body, places, rec);
        let to = self.code.from(function.code_at);
        self.compiled[number] = emit::emit(code, values, [list, to], rec);
    }

    /// The last thread to come ends the phase.
    fn arrive(&mut self) {
        if !self.share.arrive() {
            return;
        }
        self.share.begin(self.functions.len() as u64, CHUNK);
        if self.phase == Phase::Parse {
            self.phase = Phase::Compile;
            return;
        }
        self.phase = Phase::Parse;
        self.rounds += 1;
        self.ended = self.rounds == self.options.rounds;
    }
}

fn places([text, nodes, symbols]: [Array; 3]) -> Places {
    Places {
        text,
        nodes,
        symbols,
    }
}

impl Program for Compiler {
    fn footprint(&self) -> Bytes {
        self.footprint
    }

    fn threads(&self) -> u32 {
        self.options.threads
    }

    fn fill(&mut self, thread: u32, out: &mut Vec<Instr>) -> Step {
        if self.ended {
            return Step::End;
        }
        let Some(piece) = self.share.piece(thread, 1) else {
            self.arrive();
            return Step::Barrier;
        };
        let mut rec = Recorder::new(out);
        let number = piece.start as usize;
        match self.phase {
            Phase::Parse => self.parse(&mut rec, thread.into(), number),
            Phase::Compile => self.compile(&mut rec, thread.into(), number),
        }
        Step::More
    }
}

impl Kernel for Compiler {
    fn rounds(&self) -> u64 {
        self.rounds
    }

    /// The code that was made returns what its source was made to.
    fn check(&self) -> Result<(), Mismatch> {
        if self.rounds == 0 {
            return Ok(());
        }
        let seed = self.options.seed;
        let step = self.functions.len().div_ceil(CHECKED);
        for number in (0..self.functions.len() as u32).step_by(step) {
            let function = source::function(seed, number);
            for arguments in ARGUMENTS {
                let due = source::evaluate(seed, &function, arguments);
                let is = emit::run(&self.compiled, number, arguments);
                if is != due {
                    return Err(Mismatch::new(format!("f{number}{arguments:?}"), is, due));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::drive::{given, run};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn code_returns_what_its_source_was_made_to() {
        for threads in [1, 3] {
            let mut kernel = Compiler::new(&given(&INFO, threads, 1, &[], 100));
            run(&mut kernel, 1);
            assert_eq!((kernel.check(), kernel.rounds()), (Ok(()), 1));
            let code = &mut kernel.compiled[3].code;
            code.retain(|ir| !matches!(ir.what, lower::What::Binary(_)));
            assert!(std::panic::catch_unwind(|| kernel.check().is_err()).unwrap_or(true));
        }
    }

    #[test]
    fn operators_do_what_their_texts_say_in_c() {
        let of = |a, b| source::Op::ALL.map(|(op, text, _)| (text, op.apply(a, b)));
        for (a, b, due) in [
            (12, 10, [14, 6, 8, 0, 0, 22, 2, 120]),
            (-3, 5, [-3, -8, 5, 0, 1, 2, -8, -15]),
            (9, 9, [9, 0, 9, 1, 0, 18, 0, 81]),
            (
                i64::MAX,
                2,
                [
                    i64::MAX,
                    i64::MAX - 2,
                    2,
                    0,
                    0,
                    i64::MIN + 1,
                    i64::MAX - 2,
                    -2,
                ],
            ),
        ] {
            let texts = ["|", "^", "&", "==", "<", "+", "-", "*"];
            let told = of(a, b);
            assert_eq!(told.map(|(text, _)| text), texts);
            assert_eq!(told.map(|(_, result)| result), due, "{a} and {b}");
        }
    }

    #[test]
    fn threads_share_out_the_same_functions() {
        let told = [1, 4].map(|threads| {
            let mut kernel = Compiler::new(&given(&INFO, threads, 2, &[], 200));
            let told = run(&mut kernel, 1);
            (told.loads, told.stores, told.instructions)
        });
        assert_eq!(told[0], told[1]);
    }

    proptest! {
        /// Any function of any seed, alone.
        #[test]
        fn any_text_is_compiled_right(seed in any::<u64>(), arguments in any::<[i64; 3]>()) {
            let nowhere = Arena::default().array(1, 1);
            let mut unread = Vec::new();
            let mut rec = Recorder::new(&mut unread);
            let function = source::function(seed, 0);
            let text = source::print(&function);
            let (nodes, body) = parse::parse(&text, places([nowhere; 3]), &mut rec);
            let (code, values) = lower::lower(&nodes, body, [nowhere; 3], &mut rec);
            let before = code.len();
            let compiled = emit::emit(code, values, [nowhere; 2], &mut rec);
            prop_assert!(before < IR_MAX as usize && compiled.code.len() <= before);
            let due = source::evaluate(seed, &function, arguments);
            prop_assert_eq!(emit::run(&[compiled], 0, arguments), due, "{}", text);
        }
    }

    #[test]
    fn constants_are_folded_and_common_expressions_found_once() {
        let nowhere = Arena::default().array(1, 1);
        let mut unread = Vec::new();
        let mut rec = Recorder::new(&mut unread);
        let text = "function f0(a, b, c) {\n  b = a * c + (2 + 3);\n  return a * c + 5 * 1;\n}\n";
        let (nodes, body) = parse::parse(text, places([nowhere; 3]), &mut rec);
        let (code, values) = lower::lower(&nodes, body, [nowhere; 3], &mut rec);
        let products = |code: &[lower::Ir]| {
            let is = |ir: &&lower::Ir| ir.what == lower::What::Binary(source::Op::Multiply);
            code.iter().filter(is).count()
        };
        assert_eq!(products(&code), 1);
        let compiled = emit::emit(code, values, [nowhere; 2], &mut rec);
        // The product, two numbers of five, one sum and the return: `b` is not read.
        assert!(compiled.code.len() <= 5, "{:?}", compiled.code);
        assert_eq!(emit::run(&[compiled], 0, [6, 0, 7]), 47);
    }

    /// Trees were read as if all their addresses were known before.
    #[test]
    fn a_node_waits_for_the_one_that_points_to_it() {
        let mut arena = Arena::default();
        let [nodes_at, code_at, table_at] = [48, 32, 16].map(|bytes| arena.array(8192, bytes));
        let text = source::print(&source::function(7, 5));
        let nowhere = Arena::default().array(1, 1);
        let mut out = Vec::new();
        let (nodes, body) = parse::parse(&text, places([nowhere; 3]), &mut Recorder::new(&mut out));
        out.clear();
        let places = [nodes_at, code_at, table_at];
        lower::lower(&nodes, body, places, &mut Recorder::new(&mut out));
        // Each node is read once, and each but the first after one that points to it.
        let number = |at: usize| (out[at].addr / NODE_BYTES) as u32;
        let read = (0..out.len()).filter(|at| out[*at].addr < code_at.at(0));
        let mut read: Vec<usize> = read.collect();
        assert_eq!((read.len(), number(read[0])), (nodes.len(), body));
        for at in read.split_off(1) {
            let by = &nodes[number(at - usize::from(out[at].after)) as usize];
            assert!(
                by.kids.contains(&number(at)) || by.next == number(at),
                "{at}"
            );
        }
    }

    #[test]
    fn it_has_the_memory_that_was_asked_for() {
        let kernel = Compiler::new(&given(&INFO, 1, 1, &[("bytes", "8MB")], 1));
        assert!(
            kernel.footprint().0.abs_diff(8_000_000) < 800_000,
            "{}",
            kernel.footprint().0
        );
    }
}
