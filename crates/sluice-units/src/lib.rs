//! Units of the device model: picoseconds, bytes, addresses, and seeded random streams.
