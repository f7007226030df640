import { type Context, dryRun, type Run } from '../run/command-context.ts'
import { followJob } from '../run/follow-job.ts'
import { signed } from '../run/printed-line.ts'
import type { Schemas } from '../run/service-client.ts'

/** `toolroom images pull IMAGE` */
export const pullImage: Run = async (context) => {
  const { api, given } = context
  const image = given.word('IMAGE')
  if (given.is('dry-run')) return planned(image, context)
  const started = await api.post('/api/images/pull', { query: { async: true }, body: { image } })
  const pulled = await followJob<Schemas['PulledImage']>(context, started, `Pulling ${image}`)
  return {
    json: pulled,
    lines: [signed('ok', `Pulled ${pulled.image} (${shortId(pulled.id)})`)],
    plain: [[pulled.image, pulled.id, pulled.digest]],
    next: `next: toolroom add NAME --isolation container --image ${pulled.image} -- COMMAND`,
  }
}

async function planned(image: string, { api }: Context) {
  const { available, by, problem } = (await api.get('/api/isolation')).container
  return dryRun({ image, engine: by }, [
    available ? `Would pull ${image} with ${by}` : `Could not pull ${image}: ${problem}`,
  ])
}

/** As Docker and Podman print it. */
const shortId = (id: string): string => id.replace(/^sha256:/, '').slice(0, 12)
