import { useSession } from '../../../data/session.ts'
import { Act } from '../../../parts/controls/Act.tsx'
import { IsolationFields } from '../../../parts/isolation/IsolationFields.tsx'
import { namesImage } from '../../../parts/isolation/isolation.ts'
import { useSearchState } from '../../../url/search-state.ts'
import { search } from '../search.ts'
import css from './Config.module.css'
import type { Definition } from './changes.ts'
import { confinementIn } from './definition.ts'
import { t } from './messages.ts'

interface Props {
  readonly isPackage: boolean
  readonly draft: Definition
  readonly onChange: (change: Definition) => void
}

/** Where it runs, and the way to find out what it needs there. */
export function Isolation({ isPackage, draft, onChange }: Props) {
  const { mayChange } = useSession()
  const [, setSearch] = useSearchState(search)
  return (
    <div className={css.isolation}>
      <span className={css.heading}>
        <span className={css.label}>{t('isolation')}</span>
        <Act size="xs" icon="shield" changes onClick={() => setSearch({ trial: true }, { push: true })}>
          {t('tryIsolation')}
        </Act>
      </span>
      <IsolationFields
        confinement={confinementIn(draft)}
        isPackage={isPackage}
        namesImage={namesImage(draft.command, draft.args)}
        disabled={!mayChange}
        onChange={({ isolation, isolation_options }) => onChange({ isolation, isolation_options })}
      />
    </div>
  )
}
