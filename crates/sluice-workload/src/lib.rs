//! Plain programs and access generators that know nothing of the emulator.
