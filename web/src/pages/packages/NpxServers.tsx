import { Link } from 'wouter'
import { useRunInstalled } from '../../data/packages.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { showDone, showFailure } from '../../parts/controls/toasts.tsx'
import { t } from './messages.ts'
import css from './Packages.module.css'

interface Props {
  /** Of the installed package. */
  readonly name: string
  readonly servers: readonly string[]
}

/** The servers that download an installed package with npx at each start, each with the offer to run the installed one. */
export function NpxServers({ name, servers }: Props) {
  const run = useRunInstalled()
  const convert = (id: string) =>
    run.mutate(
      { id, name },
      {
        onSuccess: () => showDone(t('converted', { server: id })),
        onError: (error) => showFailure(error),
      },
    )
  return servers.map((id) => (
    <div key={id} className={css.npx}>
      <span className="sm">{t.rich('startsWithNpx', { server: <Server key={id} id={id} /> })}</span>
      <Act size="xs" changes busy={run.isPending && run.variables.id === id} onClick={() => convert(id)}>
        {t('runInstalled')}
      </Act>
    </div>
  ))
}

const Server = ({ id }: { readonly id: string }) => <Link href={`/servers/${id}`}>{id}</Link>
