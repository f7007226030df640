import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

const root = fileURLToPath(new URL('.', import.meta.url))
/** For `npm run dev:web`: the service that answers the requests of the page. */
const service = process.env.TOOLROOM_URL ?? 'http://127.0.0.1:8665'
const proxied = { target: service, headers: { origin: service }, ws: true, changeOrigin: true }

/** The browser would find the fonts only after the style sheet, and draw every text twice. */
const preloadFonts: Plugin = {
  name: 'preload-fonts',
  transformIndexHtml: {
    order: 'post',
    handler: (_, { bundle = {} }) =>
      Object.keys(bundle)
        .filter((file) => file.endsWith('.woff2'))
        .map((file) => ({
          tag: 'link',
          attrs: { rel: 'preload', as: 'font', type: 'font/woff2', crossorigin: true, href: `/${file}` },
          injectTo: 'head',
        })),
  },
}

export default defineConfig({
  root,
  plugins: [react(), preloadFonts],
  build: {
    outDir: '../dist/web',
    emptyOutDir: true,
    assetsInlineLimit: 0, // fonts and icons are files: the policy has no data: fonts
    modulePreload: { polyfill: false },
    target: 'es2022',
    rolldownOptions: {
      checks: { pluginTimings: false },
      // What the first load needs is one file: on a new connection each further request costs more than its bytes.
      output: { codeSplitting: { groups: [{ name: 'first', tags: ['$initial'] }] } },
    },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 2000, // test/web/home.test.ts limits the first load
  },
  server: { proxy: { '/api': proxied, '/docs': proxied } },
})
