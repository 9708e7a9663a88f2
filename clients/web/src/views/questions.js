// The form with which a person answers questions.
import { fill, foreign, h } from "../dom.js";
import { answersOf } from "../questions.js";
import { texts } from "../texts.js";

const ownCharactersMax = 1_000;
const words = texts.questions;

/** Empty drafts, which keep what is chosen and written while the form is drawn again. */
export function newDrafts(questions) {
    return questions.map(() => ({ chosen: new Set(), text: "" }));
}

/** A form. `send` gets the answers, and returns what went wrong, if anything. */
export function questionForm(questions, drafts, send) {
    const problems = questions.map((_, index) => h("p", { id: `q${index}-problem`, class: "problem", role: "alert" }));
    const failure = h("p", { class: "problem", role: "alert" });
    const submit = h("button", { id: "answer", class: "button primary", type: "submit", "data-action": "answer" }, words.send);
    const parts = questions.map((question, index) => part(question, drafts[index], index, problems[index]));
    const onsubmit = async (event) => {
        event.preventDefault();
        const { answers, missing } = answersOf(questions, drafts);
        problems.forEach((problem, index) => fill(problem, missing.includes(index) && words.missing(questions[index])));
        if (missing.length > 0) return parts[missing[0]].querySelector("input, textarea").focus();
        submit.disabled = true;
        const reason = await send(answers);
        fill(failure, reason);
        submit.disabled = reason === undefined;
        return undefined;
    };
    return h("form", { class: "questions", novalidate: true, onsubmit }, ...parts, failure, submit);
}

function part({ text, heading, options, isMultiple, allowsText, isOptional }, draft, index, problem) {
    const own = allowsText ? ownField(draft, index, options.length > 0) : undefined;
    const inputs = options.map(({ label }, number) => h("input", {
        id: `q${index}-${number}`, type: isMultiple ? "checkbox" : "radio", name: `q${index}`, checked: draft.chosen.has(label),
        onchange: ({ target }) => {
            if (!isMultiple) draft.chosen.clear();
            if (target.checked) draft.chosen.add(label);
            else draft.chosen.delete(label);
            // Only the last answer given counts.
            if (own && !isMultiple) own.clear();
        },
    }));
    own?.input.addEventListener("input", () => {
        if (isMultiple || draft.text.trim() === "") return;
        draft.chosen.clear();
        for (const input of inputs) input.checked = false;
    });
    const hint = [options.length > 0 && isMultiple && words.several, isOptional && words.optional].filter(Boolean).join(" ");
    return h("fieldset", { "aria-describedby": problem.id },
        h("legend", {}, heading && foreign("span", { class: "quiet" }, heading), foreign("strong", {}, text), hint && h("small", {}, hint)),
        ...options.map(({ label, detail }, number) => h("label", { class: "choice" }, inputs[number],
            h("span", {}, foreign("span", {}, label), detail && foreign("small", {}, detail)))),
        own?.element, problem);
}

function ownField(draft, index, isBesideOptions) {
    const oninput = ({ target }) => (draft.text = target.value);
    const attributes = { id: `q${index}-own`, rows: isBesideOptions ? "1" : "3", maxlength: ownCharactersMax, oninput };
    const input = h("textarea", attributes, draft.text);
    return {
        input, element: h("label", { class: "field" }, h("span", {}, isBesideOptions ? words.own : words.ownOnly), input),
        clear: () => (input.value = draft.text = ""),
    };
}

/** Questions with the answers that were given. */
export function answeredPart(questions, answers) {
    return h("dl", { class: "given" }, ...questions.map(({ text, heading }, index) => h("div", {}, foreign("dt", {}, heading ?? text),
        foreign("dd", {}, answers[index]?.join(", ") || words.none))));
}
