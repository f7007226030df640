// Warns when the code has changed since real agents and clients were tried with it.
import { staleResults } from './checked.mjs'

for (const line of staleResults()) console.log(line)
