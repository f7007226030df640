import { appFramePages, appRoutes } from '../apps/apps.routes.ts'
import { createFrames } from '../apps/frames.ts'
import type { Upstreams } from '../upstreams/upstreams.ts'

/** The pages of servers that hosts show beside results. */
export function openApps(upstreams: Pick<Upstreams, 'relay'>) {
  const frames = createFrames({
    read: async (id, uri, options) =>
      upstreams.relay(id, { method: 'resources/read', params: { uri }, options }),
    now: Date.now,
  })
  return { routes: appRoutes(frames), pages: appFramePages(frames) }
}
