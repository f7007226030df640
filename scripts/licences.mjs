// The licences of the packages whose code is part of dist.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './lib.mjs'
import { readBuilt } from './prepare.mjs'

/** The text of THIRD-PARTY-LICENSES.txt. Packages with the same text share it. */
export function thirdPartyLicences() {
  const byText = new Map()
  for (const folder of bundledPackages()) {
    const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
    const text = licenceOf(folder) ?? `Licence: ${license}. The package contains no licence text.`
    byText.set(text, [...(byText.get(text) ?? []), `${name} ${version} (${license})`])
  }
  const sections = [...byText].map(([text, names]) => `${names.join('\n')}\n\n${text}\n`)
  return `Toolroom contains code of these packages.\n\n${sections.join(`\n${'-'.repeat(72)}\n\n`)}`
}

/** A font is not a module of the bundle. */
function bundledPackages() {
  const { service = [], web = [] } = readBuilt()?.packages ?? {}
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'web/package.json'), 'utf8'))
  const fonts = Object.keys(devDependencies).filter((name) => name.startsWith('@fontsource'))
  return [...new Set([...service, ...web, ...fonts.map((name) => `node_modules/${name}`)])].sort()
}

function licenceOf(folder) {
  const file = readdirSync(join(root, folder)).find((name) => /^(licen[cs]e|copying)(\.|-|$)/i.test(name))
  const path = file && join(root, folder, file)
  return path && existsSync(path) ? readFileSync(path, 'utf8').replaceAll('\r\n', '\n').trim() : undefined
}
