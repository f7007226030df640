import type { Context, Run } from '../run/context.ts'
import { toned } from '../run/line.ts'
import type { Schemas } from '../run/service-client.ts'
import { followJob } from './follow-job.ts'

/** `toolroom images pull IMAGE` */
export const pullImage: Run = async (context) => {
  const { api, given } = context
  const image = given.word('IMAGE')
  if (given.is('dry-run')) return dryRun(image, context)
  const started = await api.post('/api/images/pull', { query: { async: true }, body: { image } })
  const pulled =
    'job' in started
      ? await followJob<Schemas['PulledImage']>(context, started.job, `Pulling ${image}`)
      : started
  return {
    json: pulled,
    lines: [[toned('ok', '✓ '), `${pulled.image} is here, with the contents ${shortId(pulled.id)}`]],
    plain: [[pulled.image, pulled.id, pulled.digest]],
    next: `next: toolroom add NAME --isolation container --image ${pulled.image} -- COMMAND`,
  }
}

async function dryRun(image: string, { api }: Context) {
  const { available, by, problem } = (await api.get('/api/isolation')).container
  return {
    json: { dry_run: true, image, engine: by },
    lines: [
      available ? `Would pull ${image} with ${by}` : `Could not pull ${image}: ${problem}`,
      'Nothing was changed (--dry-run).',
    ],
  }
}

/** As Docker and Podman print it. */
const shortId = (id: string): string => id.replace(/^sha256:/, '').slice(0, 12)
