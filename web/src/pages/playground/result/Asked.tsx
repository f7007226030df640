import { useMemo, useState } from 'react'
import { api } from '../../../data/api.ts'
import type { Question } from '../../../data/playground/run-call.ts'
import { Act } from '../../../parts/controls/Act.tsx'
import { showFailure } from '../../../parts/controls/toasts.tsx'
import { Glyph } from '../../../parts/marks/Glyph.tsx'
import { SchemaForm } from '../form/SchemaForm.tsx'
import { fieldOf, isObject } from '../form/schema.ts'
import { findingsIn } from '../form/validate.ts'
import { t } from '../messages.ts'
import css from './Result.module.css'

interface Props {
  readonly question: Question
  readonly onAnswered: () => void
}
type Content = Record<string, string | number | boolean | string[]>

/** A question of the server during a call. */
export function Asked({ question, onAnswered }: Props) {
  const { message, url, requestedSchema } = question.params
  const schema = useMemo(() => (isObject(requestedSchema) ? requestedSchema : {}), [requestedSchema])
  const field = useMemo(() => fieldOf(schema, schema), [schema])
  const [value, setValue] = useState<unknown>({})
  const [all, setAll] = useState(false)
  const { problems } = findingsIn(schema, value)
  const answer = async (action: 'accept' | 'decline' | 'cancel') => {
    if (action === 'accept' && problems.size > 0) return setAll(true)
    const content = action === 'accept' && url === undefined ? { content: value as Content } : {}
    try {
      await api().post('/api/elicitations/{id}/answer', {
        path: { id: question.id },
        body: { action, ...content },
      })
      onAnswered()
    } catch (error) {
      showFailure(error)
    }
  }
  return (
    <section className={css.asked} aria-label={t('asks')}>
      <h2 className={`info ${css.asks}`}>
        <Glyph name="unknown" />
        {t('asks')}
      </h2>
      {message && <p>{message}</p>}
      {url === undefined ? (
        <SchemaForm
          field={field}
          value={value}
          onChange={setValue}
          problems={problems}
          all={all}
          onBad={ignore}
        />
      ) : (
        <p>
          {t('openUrl')} <span className="mono">{url}</span>
        </p>
      )}
      <div className={css.answers}>
        <Act look="main" changes onClick={() => answer('accept')}>
          {t('answer')}
        </Act>
        <Act changes onClick={() => answer('decline')}>
          {t('decline')}
        </Act>
        <Act look="quiet" changes onClick={() => answer('cancel')}>
          {t('dismiss')}
        </Act>
      </div>
    </section>
  )
}

const ignore = () => {}
