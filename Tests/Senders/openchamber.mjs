// Signs as OpenChamber's server does, with Node's WebCrypto: openchamber.mjs URL TOKEN
const [url, token] = process.argv.slice(2);
const { subtle } = globalThis.crypto;
const algorithm = { name: 'ECDSA', namedCurve: 'P-256' };
const { privateKey, publicKey } = await subtle.generateKey(algorithm, true, ['sign', 'verify']);
const { kty, crv, x, y } = await subtle.exportKey('jwk', publicKey);

async function post(path, text, members) {
  const ts = Date.now();
  const signature = await subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, privateKey, Buffer.from(`${ts}.${text}`));
  const sig = Buffer.from(signature).toString('base64url');
  const body = JSON.stringify({ ...members, publicKeyJwk: { kty, crv, x, y }, ts, sig });
  const send = () => fetch(url + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const answers = [await send(), await send()];
  if (answers.some((answer) => answer.status !== 200)) throw new Error(`${path}: ${answers.map((answer) => answer.status)}`);
  return Promise.all(answers.map((answer) => answer.json()));
}

// As many tokens as allowed, each as long as allowed.
const unknown = Array.from({ length: 99 }, (_, index) => index.toString(16).padStart(160, '0'));
await post('/v1/push/register-token', `${token}.ios`, { token, platform: 'ios' });
const tokens = [token, ...unknown];
const title = 'Agent response is ready – ✓';
const answers = await post('/v1/push/send', `${[...tokens].sort().join(',')}.${title}`, {
  tokens, title, body: 'A session', badge: 1, collapseId: 'ready-ses_1', env: 'sandbox', data: { sessionId: 'ses_1' },
});
console.log(JSON.stringify(answers.map((answer) => answer.results.map(({ drop }) => drop))));
