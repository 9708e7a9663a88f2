import assert from "node:assert/strict";
import { createECDH } from "node:crypto";
import { test } from "node:test";
import { encrypt } from "./browser/push-service.js";

test("the stand-in's push service encrypts as RFC 8291, appendix A", () => {
    const sender = createECDH("prime256v1");
    sender.setPrivateKey("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw", "base64url");
    const keys = {
        p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4", auth: "BTBZMqHH6r4Tts7J_aSIgg",
    };
    const salt = Buffer.from("DGv6ra1nlYgDCS1FRnbzlw", "base64url");
    const body = encrypt("When I grow up, I want to be a watermelon", keys, { sender, salt });
    const ciphertext = "8pfeW0KbunFT06SuDKoJH9Ql87S1QUrdirN6GcG7sFz1y1sqLgVi1VhjVkHsUoEsbI_0LpXMuGvnzQ";
    assert.equal(body.subarray(86).toString("base64url"), ciphertext);
    assert.equal(body.subarray(0, 21).toString("hex"), `${salt.toString("hex")}0000100041`);
});
