//! The LD_PRELOAD library that places a program's memory on the emulated device.
