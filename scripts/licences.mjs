// The packages whose code is part of dist, and their licences.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './lib.mjs'
import { readBuilt } from './prepare.mjs'

/** The text of THIRD-PARTY-LICENSES.txt. Packages with the same text share it. */
export function thirdPartyLicences() {
  const byText = new Map()
  for (const { folder, name, version, license } of bundledPackages()) {
    const text = licenceOf(folder) ?? `Licence: ${license}. The package contains no licence text.`
    byText.set(text, [...(byText.get(text) ?? []), `${name} ${version} (${license})`])
  }
  const sections = [...byText].map(([text, names]) => `${names.join('\n')}\n\n${text}\n`)
  return `Toolroom contains code of these packages.\n\n${sections.join(`\n${'-'.repeat(72)}\n\n`)}`
}

/** A font is not a module of the bundle. */
export function bundledPackages() {
  const { service = [], web = [] } = readBuilt()?.packages ?? {}
  const { devDependencies } = readJson('web/package.json')
  const fonts = Object.keys(devDependencies).filter((name) => name.startsWith('@fontsource'))
  const folders = new Set([...service, ...web, ...fonts.map((name) => `node_modules/${name}`)])
  return [...folders].sort().map((folder) => ({ folder, ...readJson(join(folder, 'package.json')) }))
}

function licenceOf(folder) {
  const file = readdirSync(join(root, folder)).find((name) => /^(licen[cs]e|copying)(\.|-|$)/i.test(name))
  return (
    file &&
    readFileSync(join(root, folder, file), 'utf8')
      .replaceAll('\r\n', '\n')
      .trim()
  )
}

function readJson(path) {
  return JSON.parse(readFileSync(join(root, path), 'utf8'))
}
