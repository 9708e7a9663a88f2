extension PushQueue.Figures {
    /// Ends of leases, by result and reason.
    var settledSamples: [Metric.Sample] {
        [
            Metric.Sample(["sent", LoopCounts.noReason], sent),
            Metric.Sample(["again", LoopCounts.noReason], again),
        ]
            + zip(KnownReasons.words, failed).filter { $0.1 > 0 }.map {
                Metric.Sample(["failed", $0.0], $0.1)
            }
    }
}
