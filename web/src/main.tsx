import { createRoot } from 'react-dom/client'
import './theme/tokens.css'
import './theme/mantine-styles.ts'
import './theme/base.css'
import { App } from './app/App.tsx'
import { loadPage } from './app/pages.ts'
import { readFirst } from './data/first-reads.ts'
import { startLive } from './data/live/live.ts'
import { redeemCode } from './data/session.ts'
import { listenToKeys } from './keyboard/keys.ts'

const root = document.getElementById('root')
if (!root) throw new Error('index.html has no element with the id root')

listenToKeys()
await redeemCode() // first, so that nothing is read without the token and then again with it
addEventListener('hashchange', () => void redeemCode()) // a code that is opened in the same tab
startLive()
loadPage(location.pathname)
await readFirst()
createRoot(root).render(<App />)
