/// How far apart two names are, to suggest the one that was meant.
package enum EditDistance {
    /// The smallest number of insertions, deletions, replacements and swaps of neighbours that turns one into the other
    /// (optimal string alignment).
    package static func between(_ left: String, _ right: String) -> Int {
        let left = Array(left.utf8)
        let right = Array(right.utf8)
        var beforePrevious: [Int] = []
        var previous = Array(0...right.count)
        for (row, a) in left.enumerated() {
            var current = [row + 1]
            for (column, b) in right.enumerated() {
                var cost = min(
                    previous[column + 1] + 1, current[column] + 1, previous[column] + (a == b ? 0 : 1))
                if row > 0, column > 0, a == right[column - 1], left[row - 1] == b {
                    cost = min(cost, beforePrevious[column - 1] + 1)
                }
                current.append(cost)
            }
            beforePrevious = previous
            previous = current
        }
        return previous[right.count]
    }

    /// The name nearest to an unknown one, if it is near enough to be the intended one.
    package static func nearest(to name: String, among names: [String]) -> String? {
        let ranked = names.map { (name: $0, distance: between(name, $0)) }
        guard let best = ranked.min(by: { $0.distance < $1.distance }) else { return nil }
        return best.distance <= max(2, name.utf8.count / 3) ? best.name : nil
    }
}
