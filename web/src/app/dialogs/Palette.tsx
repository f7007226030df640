import { createSpotlight, Spotlight } from '@mantine/spotlight'
import '@mantine/spotlight/styles.layer.css'
import { useEffect, useState } from 'react'
import { Icon } from '../../parts/marks/icons.tsx'
import { Keys } from '../../parts/marks/Keys.tsx'
import { StatusText } from '../../parts/marks/StatusText.tsx'
import { t } from '../messages.ts'
import { type Command, search, useCommands } from './commands.ts'
import { lastUsed, remember } from './last-used.ts'
import css from './Palette.module.css'

interface Props {
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly onHelp: () => void
}

const MOST = 40
/** The list scrolls, so it has a name. */
const SCROLLS = { viewportProps: { role: 'region', 'aria-label': t('found') } }
const [store, palette] = createSpotlight()

/** Go anywhere, run anything: "restart github". Verbs first, then places. */
export function Palette({ isOpen, onClose, onHelp }: Props) {
  const [query, setQuery] = useState('')
  const commands = useCommands(isOpen && query.trim().length > 1, onHelp)
  const found = search(commands, query, isOpen ? lastUsed() : [])
  useEffect(() => (isOpen ? palette.open() : palette.close()), [isOpen])
  const first = found[0]?.id
  useEffect(() => {
    if (query !== '' && first !== undefined) selectFirst()
  }, [query, first])
  return (
    <Spotlight.Root
      store={store}
      shortcut={null}
      query={query}
      onQueryChange={setQuery}
      onSpotlightClose={() => {
        setQuery('')
        onClose()
      }}
      size={620}
      yOffset="12dvh"
      radius="xl"
      classNames={css}
      overlayProps={{ blur: 0, backgroundOpacity: 1, color: 'var(--tr-scrim)' }}
    >
      <Spotlight.Search
        placeholder={t('search')}
        aria-label={t('searchLabel')}
        leftSection={<Icon name="search" />}
        rightSection={<Keys of="Escape" />}
        rightSectionWidth={56}
      />
      <Spotlight.ActionsList {...SCROLLS}>
        {found.length === 0 && <Spotlight.Empty className={css.empty}>{t('nothingFound')}</Spotlight.Empty>}
        <Group
          query={query}
          title={t('run')}
          commands={found.filter(({ group }) => group === 'run').slice(0, MOST)}
        />
        <Group
          query={query}
          title={t('goTo')}
          commands={found.filter(({ group }) => group === 'go').slice(0, MOST)}
        />
      </Spotlight.ActionsList>
      <div className={css.foot}>
        <Keys of="ArrowUp" />
        <Keys of="ArrowDown" />
        {t('move')}
        <Keys of="Enter" />
        {t('choose')}
        <span className="right">{t('shownOf', { shown: found.length, all: commands.length })}</span>
      </div>
    </Spotlight.Root>
  )
}

/** The package selects when the query changes; tools may come later, and Enter has to find them. */
function selectFirst(): void {
  const list = document.getElementById(store.getState().listId)
  if (!list || list.querySelector('[data-selected]')) return
  list.querySelector('[data-action]')?.setAttribute('data-selected', 'true')
  store.setState({ ...store.getState(), selected: 0 })
}

interface GroupProps {
  readonly title: string
  readonly query: string
  readonly commands: readonly Command[]
}

function Group({ title, query, commands }: GroupProps) {
  if (commands.length === 0) return null
  return (
    <>
      <div className={css.title}>{title}</div>
      {commands.map(({ id, label, hint, icon, keys, server, run }) => (
        <Spotlight.Action
          key={id}
          onClick={() => {
            remember(id)
            run()
          }}
        >
          <span className={css.line}>
            <Icon name={icon} />
            <span className={css.label}>
              <Matched text={label} query={query} />
            </span>
            {hint && <span className="muted">{hint}</span>}
            <span className={css.end}>
              {server && <StatusText server={server} />}
              {keys && <Keys of={keys} />}
            </span>
          </span>
        </Spotlight.Action>
      ))}
    </>
  )
}

/** What was typed stands out in what was found. */
function Matched({ text, query }: { readonly text: string; readonly query: string }) {
  const words = query.toLowerCase().match(/[\p{L}\p{N}_-]+/gu)
  if (!words) return text
  return text.split(new RegExp(`(${words.join('|')})`, 'iu')).map((part, index) =>
    index % 2 === 1 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts never move
      <span key={index} className="info">
        {part}
      </span>
    ) : (
      part
    ),
  )
}
