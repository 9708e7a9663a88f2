"""What the parts of the load other than ordinary events share."""


class Part:
    def __init__(self, stack, account, client, tenants):
        self.stack = stack
        self.account = account
        self.client = client
        self.tenants = tenants
