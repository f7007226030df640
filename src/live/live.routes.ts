import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import * as Type from 'typebox'
import { AppError } from '../kernel/errors.ts'

const description = [
  'A WebSocket: open it with `ws://…/api/ws/metrics`. Needs no token; under `PROTECT_READS` the token is offered as the',
  'subprotocol `toolroom.<token>`. Text frames `{"v":1,"type","seq","event","ts","data"}`: first `hello`, then `snapshot`,',
  'then changes. `seq` counts the frames of this connection without a gap. A plain GET is answered with 426.',
  'docs/websocket.md has every kind of frame and a client of ten lines.',
].join(' ')

/** The page about the stream. The stream itself is opened by the door, before any routing. */
export function liveRoutes(): FastifyPluginAsyncTypebox {
  return async (app) => {
    const schema = {
      tags: ['Metrics'],
      summary: 'Real-time metrics stream',
      description,
      response: { 101: Type.Null({ description: 'The stream is open' }) },
    }
    const config = { errors: ['upgrade_required', 'too_many_clients'] }
    app.get('/ws/metrics', { schema, config }, async () => {
      throw new AppError('upgrade_required', 'This is a WebSocket; open it as one', {
        hint: 'docs/websocket.md has a client of ten lines',
      })
    })
  }
}
