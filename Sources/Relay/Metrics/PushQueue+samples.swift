extension PushQueue.Figures {
    /// How leases of queued pushes ended, by result and reason.
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
