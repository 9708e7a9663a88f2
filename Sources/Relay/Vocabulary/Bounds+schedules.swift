extension Bounds {
    // MARK: Schedules

    /// The shortest time between two times of day of a recurrence, in minutes.
    static let scheduleMinutesMin = 15
    /// How far ahead a notification can be scheduled, in seconds: a leap year.
    static let scheduleSecondsMax = 366 * 86_400
    /// How far in the past `at` may be, in seconds, for clocks that differ a little.
    static let scheduleLateSecondsMax = 60
    /// Maximum times of day of a recurrence.
    static let scheduleTimesMax = 24
    /// The largest interval of a recurrence, by unit: about a year.
    static let scheduleHoursMax = 8_784
    static let scheduleDaysMax = 366
    static let scheduleWeeksMax = 53
    static let scheduleMonthsMax = 12
    /// Maximum days that are searched for the next occurrence.
    ///
    /// The longest wait is that from February 29, 2096 to the one in 2104, since 2100 isn't a leap year.
    static let scheduleSearchDaysMax = 9 * 366
    /// Maximum length of a schedule's name.
    static let scheduleNameBytesMax = 128
    /// How often a schedule in the devices' time zones, or in an unknown one, is looked at.
    static let scheduleZoneInterval: Duration = .seconds(3_600)
    /// The largest `RELAY_SCHEDULES_PER_SECRET_MAX`, and so the longest list of schedules.
    static let schedulesListedMax = 1_000
    /// Seconds within which an occurrence that was missed is still sent, unless the schedule says so itself.
    static let scheduleLateByDefault = 3_600
    /// The longest such time: for as long as the receipt of an `eventID` is kept.
    static let scheduleLateByMax = 86_400
    /// Seconds over which the start of an occurrence is spread, unless the schedule says so itself.
    static let scheduleWindowDefault = 30
    /// The longest such time.
    static let scheduleWindowMax = 3_600
}
