// A server on Node's HTTP/2 implementation that imitates APNs: first one stream, then many, and GOAWAY under load.
// Counts every apns-id; prints its port first and its counts before it exits.
import http2 from 'node:http2'
import { readFileSync } from 'node:fs'

const [certificate, key, goAwayAfter] = process.argv.slice(2)
const taken = new Map()
// Before version 20 Node drops open streams, or serves some that its GOAWAY excluded.
const canLeave = Number(process.versions.node.split('.')[0]) >= 20
let sessions = 0
let goAways = 0

const server = http2.createSecureServer({
  cert: readFileSync(certificate),
  key: readFileSync(key),
  settings: { maxConcurrentStreams: 1 },
})
server.on('session', session => {
  sessions += 1
  let served = 0
  session.on('error', () => {})
  session.on('stream', (stream, headers) => {
    stream.on('error', () => {})
    const id = headers['apns-id']
    let body = ''
    stream.on('data', piece => { body += piece })
    stream.on('end', () => {
      taken.set(id, (taken.get(id) ?? 0) + 1)
      served += 1
      JSON.parse(body)
      stream.respond({ ':status': 200, 'apns-id': id }, { endStream: true })
      if (served === 1) session.settings({ maxConcurrentStreams: 100 })
      if (canLeave && served === Number(goAwayAfter) && goAways < 2) {
        goAways += 1
        session.goaway(0, 0, Buffer.from('{"reason":"Shutdown"}'))
        session.close()
      }
    })
  })
})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
process.on('SIGTERM', () => {
  const twice = [...taken.values()].filter(count => count > 1).length
  console.log(JSON.stringify({ ids: taken.size, twice, sessions, goAways }))
  process.exit(0)
})
