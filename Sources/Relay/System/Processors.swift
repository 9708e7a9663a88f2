import Glibc

/// The processors that this process may run on.
enum Processors {
    /// The number of processors in the CPU affinity mask, which a container's cpuset sets; at least 1.
    static var count: Int {
        var set = cpu_set_t()
        guard sched_getaffinity(0, MemoryLayout<cpu_set_t>.size, &set) == 0 else {
            return max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        }
        let bits = withUnsafeBytes(of: set) { bytes in bytes.reduce(0) { $0 + $1.nonzeroBitCount } }
        return max(1, bits)
    }
}
