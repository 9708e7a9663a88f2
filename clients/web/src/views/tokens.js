// A pairing's access tokens, with which programs ring without its secret.
import { post } from "../api.js";
import { confirm, fill, foreign, h } from "../dom.js";
import { icon } from "../icons.js";
import { texts } from "../texts.js";

const tokensMax = 50;
/** The relay accepts 128 bytes of UTF-8. */
const nameCharactersMax = 32;
const words = texts.tokens;

/** The tokens of a pairing, with a form that creates one. */
export function tokensCard(pairing, announce) {
    const list = h("div", { id: "tokens" }, h("p", { class: "quiet" }, texts.settings.loadingDevices));
    const made = h("div", { role: "status" });
    const name = h("input", { id: "token-name", type: "text", maxlength: nameCharactersMax, required: true, autocomplete: "off" });
    const button = h("button", { id: "make-token", class: "button", type: "submit" }, words.make);

    /** Runs a change; says what went wrong, and lists the tokens again. */
    const change = async (body) => {
        try {
            await body();
        } catch (error) {
            fill(made, h("p", { class: "problem" }, texts.failed(texts.reasonOf(error))));
        }
        await fillTokens(list, pairing, revoke);
    };
    const make = async (event) => {
        event.preventDefault();
        button.disabled = true;
        await change(async () => {
            const { token } = await post(pairing, "/v1/token/create", { scope: "send", name: name.value.trim() });
            fill(made, madePart(String(token), announce));
            name.value = "";
            announce(words.made);
        });
        button.disabled = false;
    };
    const revoke = async ({ tokenID, name: title }) => {
        if (!(await confirm({ title: words.revokeTitle(title), text: words.revokeText, action: words.revoke, cancel: texts.cancel }))) return;
        await change(async () => {
            await post(pairing, "/v1/token/revoke", { tokenID });
            fill(made);
            announce(words.revoked);
        });
    };
    void fillTokens(list, pairing, revoke);
    return h("div", { class: "card" }, h("p", { class: "quiet" }, words.hint), list,
        h("form", { class: "form", onsubmit: (event) => void make(event) },
            h("label", { class: "field" }, h("span", {}, words.name), name), h("div", { class: "buttons" }, button)), made);
}

/** A new token, which can't be shown again. */
function madePart(token, announce) {
    const copied = h("span", { class: "quiet" });
    const copy = async () => {
        const isCopied = await navigator.clipboard.writeText(token).then(() => true, () => false);
        fill(copied, isCopied ? words.copied : words.notCopied);
        announce(isCopied ? words.copied : words.notCopied);
    };
    return [h("p", {}, words.once), h("p", {}, h("code", { id: "token" }, token)),
        h("div", { class: "buttons" }, h("button", { id: "copy-token", class: "button primary", type: "button", onclick: () => void copy() }, words.copy), copied)];
}

async function fillTokens(element, pairing, revoke) {
    let list;
    try {
        const { tokens } = await post(pairing, "/v1/token/list");
        list = Array.isArray(tokens) ? tokens.filter((token) => typeof token === "object" && token !== null) : [];
    } catch (error) {
        const text = error.status === 404 ? words.old : texts.failed(texts.reasonOf(error));
        return void fill(element, h("p", { class: "problem" }, text));
    }
    fill(element, list.length > 0 ? h("ul", { class: "rows" }, ...list.slice(0, tokensMax).map((token) => tokenRow(token, revoke)))
        : h("p", { class: "quiet" }, words.none));
    return undefined;
}

function tokenRow(token, revoke) {
    const name = String(token.name ?? "").slice(0, 128);
    const used = typeof token.usedAt === "string" ? words.used(texts.when(Date.parse(token.usedAt))) : words.unused;
    const expires = typeof token.expiresAt === "string" && words.expires(texts.date(Date.parse(token.expiresAt) || 0));
    const button = h("button", { class: "button", type: "button", "aria-label": words.revokeTitle(name), onclick: () => void revoke({ ...token, name }) }, words.revoke);
    return h("li", {}, icon("lock"), h("div", { class: "grow" }, foreign("strong", {}, name), h("span", { class: "tag" }, String(token.scope).slice(0, 16)),
        h("p", { class: "quiet" }, [words.created(texts.when(Date.parse(token.createdAt))), used, expires].filter(Boolean).join(" · "))), button);
}
