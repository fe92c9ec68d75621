//! What a row of N-Store is made of, and what its engine does for one.
//!
//! A record, its data and each of its strings are allocations of their own, each with a line of the
//! allocator in front (N-Store's `pmalloc`; every one is a multiple of 64 bytes). The numbers here
//! are N-Store's tables (`create_*` of its TPC-C), and instructions of its functions as callgrind
//! counts them, so many for a number or string, whatever the table. The build is g++ 12 -O3, the
//! flags that its `configure` sets, glibc 2.36, and the optimised write-ahead log.

/// Bytes of a line, and the least that is allocated.
pub(super) const LINE: u64 = 64;

/// Constructing a record, and each of its strings, of 120 characters.
const CONSTRUCT: u32 = 900;
const CONSTRUCT_COLUMN: u32 = 330;
/// `operator<<` of a stream, for an integer, a double and a string.
const PRINT_INT: u32 = 160;
const PRINT_DOUBLE: u32 = 2_870;
const PRINT_STRING: u32 = 250;
/// `operator>>`, and for a string its allocation.
const PARSE_INT: u32 = 400;
const PARSE_DOUBLE: u32 = 1_575;
const PARSE_STRING: u32 = 725;

/// A table's columns, and the heap that its records take.
#[derive(Debug)]
pub(super) struct Shape {
    ints: u32,
    doubles: u32,
    pub(super) strings: u64,
    /// Lines of the numbers and pointers.
    pub(super) data: u64,
    /// Heap of a record that a statement is made of: its strings are not freed.
    pub(super) key_heap: u64,
    /// Heap of an answer's strings, and of its record.
    pub(super) text_heap: u64,
    pub(super) record_heap: u64,
}

impl Shape {
    const fn new(columns: (u32, u32, u64), data: u64, heap: (u64, u64, u64)) -> Shape {
        Shape {
            ints: columns.0,
            doubles: columns.1,
            strings: columns.2,
            data,
            key_heap: heap.0,
            text_heap: heap.1,
            record_heap: heap.2,
        }
    }

    /// Lines of a row with the allocator's.
    pub(super) const fn lines(&self) -> u64 {
        3 + self.data + 2 * self.strings
    }

    /// The line of the record, and those of its data, from the row's beginning.
    pub(super) const RECORD: u64 = LINE;
    pub(super) const fn data_at(line: u64) -> u64 {
        (3 + line) * LINE
    }

    /// The allocator's line of the data.
    pub(super) const DATA_CLUMP: u64 = 2 * LINE;

    /// The allocator's line of a string; the string is in the next.
    pub(super) const fn clump_at(&self, string: u64) -> u64 {
        (3 + self.data + 2 * string) * LINE
    }

    /// Bytes of `field_info`, one for each column.
    pub(super) const fn schema_bytes(&self) -> u64 {
        40 * (self.columns() as u64)
    }

    const fn columns(&self) -> u32 {
        self.ints + self.doubles + self.strings as u32
    }

    pub(super) const fn construct(&self) -> u32 {
        CONSTRUCT + CONSTRUCT_COLUMN * self.columns()
    }

    /// Printing the numbers, and one of the strings.
    pub(super) const fn print(&self) -> u32 {
        PRINT_INT * self.ints + PRINT_DOUBLE * self.doubles
    }
    pub(super) const PRINT_STRING: u32 = PRINT_STRING;

    /// Making a record of what was printed.
    pub(super) const fn parse(&self) -> u32 {
        PARSE_INT * self.ints + PARSE_DOUBLE * self.doubles + PARSE_STRING * self.strings as u32
    }
}

// Heap is malloc's: a multiple of 16 bytes with its header, and no less than 32. The strings of a
// statement's record have 120 characters, but the ten S_DIST of STOCK, which have none. A shape is
// known by its address, which only a static has.
pub(super) static ITEM: Shape = Shape::new((2, 1, 2), 1, (288, 128, 128));
pub(super) static WAREHOUSE: Shape = Shape::new((1, 2, 6), 2, (864, 256, 192));
pub(super) static DISTRICT: Shape = Shape::new((3, 2, 6), 3, (864, 256, 208));
pub(super) static CUSTOMER: Shape = Shape::new((5, 5, 11), 5, (1_584, 992, 352));
pub(super) static ORDERS: Shape = Shape::new((7, 1, 0), 2, (0, 0, 160));
pub(super) static ORDER_LINE: Shape = Shape::new((7, 2, 1), 2, (144, 48, 192));
pub(super) static NEW_ORDER: Shape = Shape::new((3, 0, 0), 1, (0, 0, 96));
pub(super) static HISTORY: Shape = Shape::new((5, 2, 1), 2, (0, 48, 160));
pub(super) static STOCK: Shape = Shape::new((6, 0, 11), 4, (464, 560, 272));

/// All of them, in the order of N-Store's tables.
pub(super) const SHAPES: [&Shape; 9] = [
    &ITEM,
    &WAREHOUSE,
    &DISTRICT,
    &CUSTOMER,
    &ORDERS,
    &ORDER_LINE,
    &NEW_ORDER,
    &HISTORY,
    &STOCK,
];
