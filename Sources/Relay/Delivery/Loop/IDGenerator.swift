/// Generates random numbers for identifiers that must be unique but not secret, in a few nanoseconds each and without a
/// system call.
///
/// SplitMix64 (Steele, Lea and Flood, 2014), seeded once from the system. Confined to its loop.
struct IDGenerator: RandomNumberGenerator {
    private var state: UInt64

    /// A generator seeded from the system's randomness.
    init() {
        var system = SystemRandomNumberGenerator()
        self.init(seed: system.next())
    }

    /// A generator with a fixed seed, for tests.
    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
