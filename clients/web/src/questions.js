// Questions that a sender asks, and what a person answers to them.
import { cut } from "./message.js";

/** The request of an opened text, with texts that are safe to show; undefined if there is none. */
export function askedOf(request) {
    if (!request) return undefined;
    const { end, isCut, questions } = request;
    // Labels go back to the sender as they came.
    const shown = questions.map(({ text, heading, options, ...rest }) => ({
        text: cut(text), heading: cut(heading), options: options.map(({ label, detail }) => ({ label, detail: cut(detail) })), ...rest,
    }));
    return { end, isCut, questions: shown };
}

/**
 * The answers to questions, and the questions that lack one: `{ answers, missing }`, where `missing` has their indices.
 *
 * @param drafts For each question `{ chosen, text }`: the labels that are chosen, and what the person wrote.
 */
export function answersOf(questions, drafts) {
    const answers = questions.map((question, index) => answerOf(question, drafts[index]));
    const missing = answers.flatMap((answer, index) => (answer.length === 0 && !questions[index].isOptional ? [index] : []));
    return { answers, missing };
}

function answerOf({ options, isMultiple, allowsText }, { chosen, text }) {
    const labels = options.map(({ label }) => label).filter((label) => chosen.has(label));
    const own = allowsText ? text.trim() : "";
    // Writing an option's name chooses the option.
    if (own === "" || labels.includes(own)) return isMultiple ? labels : labels.slice(0, 1);
    return isMultiple ? [...labels, own] : [own];
}
