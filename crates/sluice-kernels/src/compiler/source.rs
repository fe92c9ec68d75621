//! Programs to compile: made up, printed, and evaluated as they were made.

use sluice_units::Rng;

/// Parameters of every function.
pub(super) const PARAMETERS: usize = 3;
/// Variables of a function at most, its parameters included.
pub(super) const VARIABLES: usize = 40;
/// Every so many functions one calls no other; others call only such.
const LEAF: u32 = 4;
const DEPTH: u32 = 4;

/// An operator, in the order of how tightly it binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Op {
    Or,
    Xor,
    And,
    Equal,
    Less,
    Add,
    Subtract,
    Multiply,
}

impl Op {
    pub(super) const ALL: [(Op, &'static str, u8); 8] = [
        (Op::Or, "|", 1),
        (Op::Xor, "^", 2),
        (Op::And, "&", 3),
        (Op::Equal, "==", 4),
        (Op::Less, "<", 5),
        (Op::Add, "+", 6),
        (Op::Subtract, "-", 6),
        (Op::Multiply, "*", 7),
    ];

    /// Its text, and how tightly it binds.
    fn text(self) -> (&'static str, u8) {
        let (_, text, binds) = Op::ALL[self as usize];
        (text, binds)
    }

    pub(super) fn apply(self, a: i64, b: i64) -> i64 {
        match self {
            Op::Or => a | b,
            Op::Xor => a ^ b,
            Op::And => a & b,
            Op::Equal => i64::from(a == b),
            Op::Less => i64::from(a < b),
            Op::Add => a.wrapping_add(b),
            Op::Subtract => a.wrapping_sub(b),
            Op::Multiply => a.wrapping_mul(b),
        }
    }
}

pub(super) enum Expr {
    Number(i64),
    Variable(usize),
    Binary(Op, Box<Expr>, Box<Expr>),
    Call(u32, Vec<Expr>),
}

pub(super) enum Stmt {
    Assign(usize, Expr),
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// While a variable of its own is below a number; it counts up.
    While(usize, i64, Vec<Stmt>),
}

pub(super) struct Function {
    pub(super) number: u32,
    body: Vec<Stmt>,
    result: Expr,
}

struct Maker {
    rng: Rng,
    number: u32,
    /// Variables that have a value by now.
    known: usize,
    loops: u32,
}

/// The function of a number.
pub(super) fn function(seed: u64, number: u32) -> Function {
    let mut maker = Maker {
        rng: Rng::stream(seed, &format!("kernel.compiler {number}")),
        number,
        known: PARAMETERS,
        loops: 0,
    };
    let statements = 8 + maker.rng.below(24);
    let body = (0..statements).map(|_| maker.statement(0)).collect();
    let result = maker.expression(0);
    Function {
        number,
        body,
        result,
    }
}

impl Maker {
    fn statement(&mut self, depth: u32) -> Stmt {
        match self.rng.below(10) {
            0 | 1 if depth < 2 => {
                let condition = self.expression(2);
                let [yes, no] = [(); 2].map(|()| self.block(depth));
                Stmt::If(condition, yes, no)
            }
            2 if depth < 2 && self.known < VARIABLES - 4 => {
                let counter = self.known;
                self.known += 1;
                self.loops += 1;
                let body = self.block(depth + 1);
                self.loops -= 1;
                Stmt::While(counter, 2 + self.rng.below(6) as i64, body)
            }
            _ => self.assignment(depth),
        }
    }

    /// To a new variable only where every way leads past it, and never to a loop's counter, which
    /// is odd.
    fn assignment(&mut self, depth: u32) -> Stmt {
        let value = self.expression(0);
        let is_new = depth == 0 && self.known < VARIABLES - 4 && self.rng.below(3) == 0;
        if is_new {
            self.known += 1;
            return Stmt::Assign(self.known - 1, value);
        }
        Stmt::Assign(self.rng.below(PARAMETERS as u64) as usize, value)
    }

    fn block(&mut self, depth: u32) -> Vec<Stmt> {
        let statements = 1 + self.rng.below(4);
        let known = self.known;
        let block = (0..statements).map(|_| self.statement(depth + 1)).collect();
        // A variable that got its first value in the block may have none behind it.
        self.known = known;
        block
    }

    fn expression(&mut self, depth: u32) -> Expr {
        let kind = self.rng.below(if depth < DEPTH { 10 } else { 4 });
        match kind {
            0 => Expr::Number(self.rng.below(1_000) as i64),
            1..4 => Expr::Variable(self.rng.below(self.known as u64) as usize),
            4 if !self.number.is_multiple_of(LEAF) && self.loops == 0 => {
                let callee = self.rng.below(u64::from(self.number.div_ceil(LEAF)));
                let arguments = (0..PARAMETERS)
                    .map(|_| self.expression(depth + 2))
                    .collect();
                Expr::Call(callee as u32 * LEAF, arguments)
            }
            _ => {
                let (op, ..) = Op::ALL[self.rng.below(Op::ALL.len() as u64) as usize];
                let [a, b] = [(); 2].map(|()| Box::new(self.expression(depth + 1)));
                Expr::Binary(op, a, b)
            }
        }
    }
}

/// What a variable is called.
fn name(variable: usize) -> String {
    match variable.checked_sub(PARAMETERS) {
        Some(local) => format!("local_{local}"),
        None => format!("argument_{variable}"),
    }
}

/// A function as text.
pub(super) fn print(function: &Function) -> String {
    let parameters: Vec<String> = (0..PARAMETERS).map(name).collect();
    let mut out = format!(
        "function f{}({}) {{\n",
        function.number,
        parameters.join(", ")
    );
    print_block(&mut out, &function.body, 1);
    out += "    return ";
    print_expr(&mut out, &function.result, 0);
    out += ";\n}\n";
    out
}

fn print_block(out: &mut String, block: &[Stmt], depth: usize) {
    let indent = "    ".repeat(depth);
    for statement in block {
        *out += &indent;
        match statement {
            Stmt::Assign(variable, value) => {
                *out += &format!("{} = ", name(*variable));
                print_expr(out, value, 0);
                *out += ";\n";
            }
            Stmt::If(condition, yes, no) => {
                *out += "if (";
                print_expr(out, condition, 0);
                *out += ") {\n";
                print_block(out, yes, depth + 1);
                *out += &format!("{indent}}} else {{\n");
                print_block(out, no, depth + 1);
                *out += &format!("{indent}}}\n");
            }
            Stmt::While(counter, limit, body) => {
                let counter = name(*counter);
                *out += &format!("{counter} = 0;\n{indent}while ({counter} < {limit}) {{\n");
                print_block(out, body, depth + 1);
                *out += &format!("{indent}    {counter} = {counter} + 1;\n{indent}}}\n");
            }
        }
    }
}

/// With parentheses only where they are needed.
fn print_expr(out: &mut String, expr: &Expr, binds: u8) {
    match expr {
        Expr::Number(value) => *out += &value.to_string(),
        Expr::Variable(variable) => *out += &name(*variable),
        Expr::Binary(op, a, b) => {
            let (text, own) = op.text();
            let is_apart = own < binds;
            *out += if is_apart { "(" } else { "" };
            print_expr(out, a, own);
            *out += &format!(" {text} ");
            print_expr(out, b, own + 1);
            *out += if is_apart { ")" } else { "" };
        }
        Expr::Call(callee, arguments) => {
            *out += &format!("f{callee}(");
            for (index, argument) in arguments.iter().enumerate() {
                *out += if index > 0 { ", " } else { "" };
                print_expr(out, argument, 0);
            }
            *out += ")";
        }
    }
}

/// What a function returns, by what it was made as.
pub(super) fn evaluate(seed: u64, function: &Function, arguments: [i64; PARAMETERS]) -> i64 {
    let mut values = [0; VARIABLES];
    values[..PARAMETERS].copy_from_slice(&arguments);
    execute(seed, &function.body, &mut values);
    value(seed, &function.result, &values)
}

fn execute(seed: u64, block: &[Stmt], values: &mut [i64; VARIABLES]) {
    for statement in block {
        match statement {
            Stmt::Assign(variable, of) => values[*variable] = value(seed, of, values),
            Stmt::If(condition, yes, no) => {
                let is_true = value(seed, condition, values) != 0;
                execute(seed, if is_true { yes } else { no }, values);
            }
            Stmt::While(counter, limit, body) => {
                values[*counter] = 0;
                while values[*counter] < *limit {
                    execute(seed, body, values);
                    values[*counter] += 1;
                }
            }
        }
    }
}

fn value(seed: u64, expr: &Expr, values: &[i64; VARIABLES]) -> i64 {
    match expr {
        Expr::Number(value) => *value,
        Expr::Variable(variable) => values[*variable],
        Expr::Binary(op, a, b) => op.apply(value(seed, a, values), value(seed, b, values)),
        Expr::Call(callee, arguments) => {
            let of = [0, 1, 2].map(|index| value(seed, &arguments[index], values));
            evaluate(seed, &function(seed, *callee), of)
        }
    }
}
