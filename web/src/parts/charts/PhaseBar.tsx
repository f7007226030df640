import css from './PhaseBar.module.css'

export interface Phase {
  readonly name: string
  readonly state: 'done' | 'now' | 'later' | 'look' | 'failed'
}

/** As many segments as there are phases; the current one is striped. Never a percentage. */
export function PhaseBar({ phases, label }: { readonly phases: readonly Phase[]; readonly label: string }) {
  const now = phases.find(({ state }) => state === 'now')?.name
  return (
    <div className={css.bar} role="img" aria-label={now ? `${label}: ${now}` : label}>
      {phases.map(({ name, state }) => (
        <span key={name} className={`${css.segment} ${css[state]}`} title={name} />
      ))}
    </div>
  )
}
