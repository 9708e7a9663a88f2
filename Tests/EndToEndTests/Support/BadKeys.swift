/// Keys that can't sign for APNs, made only for these tests.
enum BadKeys {
    static let rsa = """
        -----BEGIN PRIVATE KEY-----
        MIICdwIBADANBgkqhkiG9w0BAQEFAASCAmEwggJdAgEAAoGBAKzAysCqbswlPLIq
        Fk7Ab5Rk8ZBuSWMvrDwMseG2/3VU0pwucZ6OZskrNti5Z5p+8tnwqZsdnoqYaHpV
        KO6MnJ7eUmiAl/ZrkVuSAfkDKOZg6Xv8E9rWmYexrUhy6xhxsLUJlDNY2Kt0Tfks
        t6lKaD8tiPhLGw1o5xtSAs3jyE/VAgMBAAECgYEAqGYC/w7klLIT2aU3O6tQ2XoR
        FHa9qSdWoO7LE7k8ipaV+1M2xJYR0jYC7/7D5JGtkA+OdbvIyVfKOL38+ZUuMf/o
        lHbJbgol+ZN33aik0uNm722AhBdMbw0WevaMIE9DbiSlHMCsMZPqH7q6i5Oj3AoI
        naCltJyXWZunQ0sbeP0CQQDl+5l1YHdBbGjDyNG0oeF06D9QswaqWIVgu+NhkdSn
        ltj0t7ZI/NqQ3q7rSYMr8M+nbUJ6DW9wRlA3FisRVsRbAkEAwEvLpOznRPXggcSi
        uwEg5jYMbtqMlLpB7KUEcSkWONZH18Mxh/VrxTGOepBXU6HgjzS6gQUh/siHKb9c
        5h+zjwJAMjL95xn8TeJ856dQ5s2i6aK8F0BMhyg1TM0WL7jmIwKRLrFe74WJq69/
        nMn6AMBagyAdL4j5NxeR8MQ8+FbpGwJAYT5zT4YWNkN5M2azPIqHjqPKicyvxw6i
        BAA3TNqQSFHkpvIo/C5aP7Cd8tFHuB1mqETsBA8KcAQMhkoluqJRdQJBANNdpR0i
        07S0IGNNI2KhDtEGTZQbhy0Yipgb0gVYhzn2sL0QxnAydkegZ+y46T9EE53hOBPD
        rImQdxW8oOFIkxs=
        -----END PRIVATE KEY-----

        """

    static let p384 = """
        -----BEGIN PRIVATE KEY-----
        MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDBTmoqEJ/0U35gWTbmA
        XXoOxneCFyS9P8gHvp9JprBCRiD1CC2dQ1ZfL+v0tHhw0XShZANiAASsL54CNJtz
        CWQBhQVa1G29lQLXYwf1z5dwPKVGG5zHS6dRRD0A7Zc3DCt0YDGfEpSwXnJnSl+r
        yqiON8QeQPQGvJyC2I8S1A686g5Wx5Quv8D+dXAAa7+hUxfn1S6VgC4=
        -----END PRIVATE KEY-----

        """

    /// A P-256 key, encrypted with a password.
    static let encrypted = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAjalaJzln32GwICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEGNOgD1Cs7ryMe755kWsxl8EgZA1
        UYsjwIhJdRe/4D4iCQbC28q+hcUv6g1NRr/qXvRH0srqIgOJdFua8tyPMKJM+Ql9
        uhKXvlINL+bh/LdQqrbI0mlzrp67YzKantCQ9dmzJ/UVjeqc/ut9zMUDR8/M859A
        6P5pbwq+vBPNjYjOhtQLiwyzv6hqlcbrgluOHqmsJQpLSe5FjQlk2ZL3MEKu+7Q=
        -----END ENCRYPTED PRIVATE KEY-----

        """
}
