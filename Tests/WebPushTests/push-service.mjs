// A push service on Node's HTTP/2 and HTTP/1.1, whose paths select the response; or another kind of listener.
// Prints its port first, and the requests that it received before it exits.
//
// usage: node push-service.mjs CERTIFICATE KEY h2|h1|garbage|reset|silent|refusing-proxy
//        node push-service.mjs CERTIFICATE KEY proxy [HOST:PORT]     (where all tunnels lead)
import http from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import net from 'node:net'
import tls from 'node:tls'
import { readFileSync } from 'node:fs'

const [certificate, key, mode, target] = process.argv.slice(2)
const secrets = { cert: readFileSync(certificate), key: readFileSync(key) }
const seen = { requests: 0, connections: 0, protocols: {}, paths: {}, tunnels: 0, last: {} }

function answer(request, response) {
  const path = request.url.split('?')[0]
  seen.requests += 1
  seen.protocols[request.httpVersion] = (seen.protocols[request.httpVersion] ?? 0) + 1
  seen.paths[request.url] = (seen.paths[request.url] ?? 0) + 1
  const pieces = []
  request.on('data', piece => pieces.push(piece))
  request.on('error', () => {})
  response.on('error', () => {})
  request.on('end', () => {
    seen.last = { method: request.method, bytes: Buffer.concat(pieces).length, ...request.headers }
    const session = request.stream?.session
    if (session?.isFrozen) return
    switch (path) {
      case '/gone': return response.writeHead(410).end('{"reason":"Unregistered"}')
      case '/later': return response.writeHead(503, { 'Retry-After': '120' }).end()
      case '/date': {
        const date = new Date(Date.now() + 90_000).toUTCString()
        return response.writeHead(429, { 'Retry-After': date }).end()
      }
      case '/redirect': return response.writeHead(307, { Location: '/ok' }).end()
      case '/huge': {
        response.writeHead(413)
        const write = () => { while (response.writable && response.write(Buffer.alloc(65_536, 97))); }
        response.on('drain', write)
        return write()
      }
      case '/stall': return
      case '/stalled-body': return response.writeHead(201, { 'Content-Length': '10' }).write('x')
      case '/freeze': if (session) session.isFrozen = true; return
      case '/reset': return request.stream && session ? request.stream.close(2) : request.socket.resetAndDestroy()
      case '/leave': response.writeHead(201, session ? {} : { Connection: 'close' }).end(); return session?.close()
      default: return response.writeHead(201, { Location: `https://push.example/m/${seen.requests}`, TTL: '60' }).end()
    }
  })
}

const servers = {
  h2: () => http2.createSecureServer({ ...secrets, allowHTTP1: true, settings: { maxConcurrentStreams: 100 } }, answer),
  h1: () => https.createServer(secrets, answer),
  garbage: () => tls.createServer(secrets, socket => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end('\x00\xffno HTTP at all\r\n\r\n'))
  }),
  reset: () => tls.createServer(secrets, socket => {
    socket.on('error', () => {})
    socket.once('data', () => socket.destroy())
  }),
  silent: () => net.createServer(socket => socket.on('error', () => {})),
  proxy: () => http.createServer().on('connect', (request, socket) => {
    seen.tunnels += 1
    seen.last = { target: request.url, ...request.headers }
    const [host, port] = (target ?? request.url).split(':')
    const server = net.connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      server.pipe(socket)
      socket.pipe(server)
    })
    server.on('error', () => socket.destroy())
    socket.on('error', () => server.destroy())
  }),
  'refusing-proxy': () => http.createServer().on('connect', (request, socket) => {
    socket.on('error', () => {}).end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n')
  }),
}

const server = servers[mode]()
server.on('secureConnection', () => { seen.connections += 1 })
server.on('sessionError', () => {})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
process.on('SIGTERM', () => {
  console.log(JSON.stringify(seen))
  process.exit(0)
})
