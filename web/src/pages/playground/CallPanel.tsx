import { Textarea } from '@mantine/core'
import { type KeyboardEvent, useEffect, useState } from 'react'
import type { Schemas } from '../../data/api.ts'
import type { Server } from '../../data/servers.ts'
import { bytes } from '../../format/format.ts'
import { useKeys } from '../../keyboard/keys.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { CopyAs } from '../../parts/controls/CopyAs.tsx'
import { Seg } from '../../parts/controls/Seg.tsx'
import { Glyph } from '../../parts/marks/Glyph.tsx'
import { Keys } from '../../parts/marks/Keys.tsx'
import { Tag } from '../../parts/marks/Tag.tsx'
import { hasExact } from './form/exact-json.ts'
import { SchemaForm } from './form/SchemaForm.tsx'
import { Json } from './Json.tsx'
import { t } from './messages.ts'
import css from './Playground.module.css'
import { SaveDialog } from './SaveDialog.tsx'
import { useDraft } from './use-draft.ts'

type Tool = Schemas['Tool']
export const VIEWS = ['form', 'json'] as const
export type View = (typeof VIEWS)[number]

interface Props {
  readonly server: Server
  readonly tool: Tool
  readonly view: View
  readonly onView: (view: View) => void
  /** Arguments to begin with, of a saved or an earlier call. */
  readonly given: { readonly key: string; readonly value: unknown; readonly note?: string } | undefined
  readonly isRunning: boolean
  readonly onRun: (args: string) => void
}

const sizeOf = (text: string): number => new TextEncoder().encode(text).length

/** The form of a tool, what it will send, and the button that sends it. */
export function CallPanel({ server, tool, view, onView, given, isRunning, onRun }: Props) {
  const draft = useDraft(tool.input_schema)
  const [all, setAll] = useState(false)
  const [isSure, setSure] = useState(false)
  const [isAsking, setAsking] = useState(false)
  const [isSaving, setSaving] = useState(false)
  const { set } = draft
  const givenKey = given?.key
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each call that is given, not for each drawing
  useEffect(() => {
    if (given?.value !== undefined) set(given.value)
  }, [givenKey])
  const effects = effectsOf(tool)
  const isStopped = server.type === 'stdio' && ['stopped', 'failed'].includes(server.status)
  const wrong = draft.problems.size + draft.bad
  const blocked = view === 'json' ? draft.refusal : all && wrong > 0 ? t('fix', { count: wrong }) : undefined
  const run = () => {
    if (isRunning) return
    if (view === 'form' && wrong > 0) return setAll(true)
    if (draft.refusal) return
    if (effects.destroys && !isSure && !isAsking) return setAsking(true)
    setSure(true)
    setAsking(false)
    onRun(draft.text)
  }
  useKeys(t('title'), { 'ctrl+Enter': { does: t('run'), run } })
  // Before a field takes the key: a list of choices would open.
  const onKeyDownCapture = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
    event.preventDefault()
    event.stopPropagation()
    run()
  }
  const route = server.type === 'http' ? 'http-servers' : 'servers'
  return (
    <section className={css.panel} aria-label={tool.name} onKeyDownCapture={onKeyDownCapture}>
      <div className={css.head}>
        <b className={`mono cut ${css.name}`}>{tool.name}</b>
        <Tag tone={effects.tone} {...(effects.tone === 'warn' && { glyph: 'look' as const })}>
          {effects.word}
        </Tag>
        {tool.annotations?.openWorldHint === true && <Tag>{t('network')}</Tag>}
        <span className="muted sm">{t('tokens', { count: tool.tokens })}</span>
        <span className="right">
          <Seg
            label={t('view')}
            value={view}
            options={VIEWS.map((value) => ({ value, label: t(value) }))}
            onChange={onView}
          />
        </span>
      </div>
      <div className={css.body}>
        {tool.description && <p className={`muted ${css.description}`}>{tool.description}</p>}
        {given?.note && <p className={`info sm ${css.description}`}>{given.note}</p>}
        {view === 'json' ? (
          <Textarea
            className={css.json}
            aria-label={t('arguments')}
            value={draft.text}
            error={draft.refusal}
            rows={14}
            spellCheck={false}
            onChange={({ currentTarget }) => draft.type(currentTarget.value)}
          />
        ) : (
          <SchemaForm
            field={draft.field}
            value={draft.value}
            onChange={draft.set}
            problems={draft.problems}
            all={all}
            onBad={draft.onBad}
          />
        )}
        {view === 'form' && draft.field.kind === 'object' && draft.field.properties().length === 0 && (
          <p className="muted">{t('noArguments')}</p>
        )}
      </div>
      {draft.hasUnchecked && <p className={`muted sm ${css.description}`}>{t('unchecked')}</p>}
      <div className={css.sends}>
        <h2 className={css.label}>
          {t('willSend')}
          <span className="right">{bytes(sizeOf(draft.text))}</span>
        </h2>
        <Json label={t('willSend')} text={draft.text} />
      </div>
      <div className={css.foot}>
        {isStopped ? (
          <span className="muted sm">{t('startIt')}</span>
        ) : (
          effects.tone === 'warn' && (
            <span className={`warn sm ${css.warning}`}>
              <Glyph name="look" />
              {t('changesData')}
            </span>
          )
        )}
        <span className={css.actions}>
          <CopyAs look="quiet" route={route} server={server.id} tool={tool.name} args={draft.text} />
          <Act
            look="quiet"
            icon="pin"
            changes
            blocked={draft.refusal ?? (hasExact(draft.value) ? t('tooExact') : undefined)}
            onClick={() => setSaving(true)}
          >
            {t('save')}
          </Act>
          <Act look="main" size="md" changes blocked={blocked} busy={isRunning} onClick={run}>
            {isAsking ? t('sure') : isStopped ? t('startAndRun') : t('run')}
            <span className={`wide-only ${css.key}`}>
              <Keys of="ctrl+Enter" />
            </span>
          </Act>
        </span>
      </div>
      {isSaving && (
        <SaveDialog server={server.id} tool={tool.name} args={draft.value} onClose={() => setSaving(false)} />
      )}
    </section>
  )
}

/** What a tool says about what it does. */
function effectsOf({ annotations }: Tool) {
  if (annotations?.readOnlyHint === true) return { word: t('reads'), tone: 'idle', destroys: false } as const
  if (annotations?.destructiveHint === true)
    return { word: t('destroys'), tone: 'warn', destroys: true } as const
  if (annotations?.readOnlyHint === false || annotations?.destructiveHint === false)
    return { word: t('writes'), tone: 'warn', destroys: false } as const
  return { word: t('unknown'), tone: 'idle', destroys: false } as const
}
