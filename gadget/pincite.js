/**
 * Pincite for MediaWiki: a dot beside each citation that says whether its source supports the claim.
 *
 * A user script in ECMAScript 2016, without a build step, loaded as a raw page: MediaWiki accepts only ECMAScript 5 in common.js itself
 * in some releases. It asks a Pincite server that you name (by default the one on your own machine) and never edits. In an editor it
 * checks the edited text. All text from the server is put in as text.
 * Installing it: docs/gadget.md.
 */
( function () {
	'use strict';

	const STORAGE = 'pincite';
	const ADDRESS = 'http://127.0.0.1:8765';
	const POLL = 1000; // milliseconds between questions how far the server is
	const PATIENCE = 30000; // milliseconds for one answer
	const PROBLEMS = [ 'partly_supported', 'not_supported', 'refuted', 'disputed' ];
	const BLOCKS = 'p, li, td, dd, blockquote';
	const SIGNS = { supported: '✓', partly_supported: '◐', not_supported: '○', refuted: '✗', disputed: '⚖', unchecked: '–', open: '?' };
	const TEXTS = {
		en: {
			name: 'Check citations', page: 'Check this page', section: 'Check this section', stop: 'Stop', close: 'Close',
			settings: 'Server', address: 'Address of your Pincite server', token: 'Token', save: 'Save',
			saved: 'Saved in this browser.', open: 'not checked yet: check this citation',
			supported: 'supported', partly_supported: 'partly supported', not_supported: 'not supported',
			refuted: 'contradicted?', disputed: 'disputed', unchecked: 'could not check', support: 'support $1 %',
			waiting: 'Waiting for the server …', running: 'Checked $1 of $2 claims',
			claims: [ '$1 claim', '$1 claims' ], nSupported: [ '$1 supported', '$1 supported' ], nProblems: [ '$1 problem', '$1 problems' ],
			nUnchecked: [ '$1 could not be checked', '$1 could not be checked' ], next: 'Next problem (n)', previous: 'Previous problem (p)',
			judged: 'Judged by the network for other languages: $1', stopped: 'Stopped.', none: 'No claim with a reference was found here.',
			claim: 'Claim', quote: 'The source says', near: 'No single sentence is close enough to quote; this passage comes closest',
			every: 'All claims', edited: 'This checks the text that you are editing.', unreadable: 'The edited text cannot be read: save or preview it first.',
			published: 'Published findings', missing: 'Nothing was found for', why: 'Could not check', step: 'What you can do', better: 'Better sources',
			copyTag: 'Copy tag', tagged: 'Already tagged by an editor, so no other tag is offered', copyReference: 'Copy reference', copied: 'Copied.', notCopied: 'Could not copy; select it here:',
			advice: 'These are automatic suggestions: read the source before you tag or replace anything.',
			noServer: 'No server answers at $1. Start one with “pincite serve”, and check that its server.wikis includes $2.',
			slow: 'The server at $1 did not answer within 30 seconds.', token401: 'The server does not know this token. It prints the right one when it starts.',
			notAllowed: 'The server refuses this ($1): $2', failed: 'The server could not do this ($1): $2', noAddress: 'This is not an address: expected http://127.0.0.1:8765 or https://…'
		},
		de: {
			name: 'Belege prüfen', page: 'Diese Seite prüfen', section: 'Diesen Abschnitt prüfen', stop: 'Anhalten', close: 'Schließen',
			settings: 'Server', address: 'Adresse deines Pincite-Servers', token: 'Sein Schlüssel', save: 'Speichern',
			saved: 'In diesem Browser gespeichert.', open: 'noch nicht geprüft: diesen Beleg prüfen',
			supported: 'belegt', partly_supported: 'teilweise belegt', not_supported: 'nicht belegt',
			refuted: 'Widerspruch?', disputed: 'strittig', unchecked: 'nicht prüfbar', support: 'zu $1 % belegt',
			waiting: 'Der Server arbeitet noch an anderem …', running: '$1 von $2 Aussagen geprüft',
			claims: [ '$1 Aussage', '$1 Aussagen' ], nSupported: [ '$1 belegt', '$1 belegt' ], nProblems: [ '$1 Problem', '$1 Probleme' ],
			nUnchecked: [ '$1 nicht prüfbar', '$1 nicht prüfbar' ], next: 'Nächstes Problem (n)', previous: 'Voriges Problem (p)',
			judged: 'Beurteilt vom Netz für andere Sprachen: $1', stopped: 'Angehalten.', none: 'Hier steht keine Aussage mit einem Beleg.',
			claim: 'Aussage', quote: 'Die Quelle sagt', near: 'Kein einzelner Satz ist nahe genug, um ihn zu zitieren; dies kommt am nächsten',
			every: 'Alle Aussagen', edited: 'Geprüft wird der Text, den du bearbeitest.', unreadable: 'Der bearbeitete Text ist nicht lesbar: erst speichern oder Vorschau zeigen.',
			published: 'Veröffentlichte Funde', missing: 'Nichts gefunden für', why: 'Nicht prüfbar', step: 'Was du tun kannst', better: 'Bessere Quellen',
			copyTag: 'Baustein kopieren', tagged: 'Schon markiert, daher kein weiterer Baustein', copyReference: 'Beleg kopieren', copied: 'Kopiert.', notCopied: 'Kopieren ging nicht; hier markieren:',
			advice: 'Der Vorschlag eines Programms: Lies die Quelle, bevor du etwas markierst oder ersetzt.',
			noServer: 'Unter $1 antwortet kein Server. Starte einen mit „pincite serve“; $2 muss unter server.wikis stehen.',
			slow: 'Der Server $1 hat 30 Sekunden lang nicht geantwortet.', token401: 'Der Server kennt diesen Schlüssel nicht. Den richtigen zeigt er beim Start.',
			notAllowed: 'Der Server lehnt das ab ($1): $2', failed: 'Der Server konnte das nicht tun ($1): $2', noAddress: 'Das ist keine Adresse; erwartet wird http://127.0.0.1:8765 oder https://…'
		}
	};
	// The skin's own colours, so that its dark mode is ours; the second value is for skins without them.
	const STYLE = `
.pincite-dot{all:unset;box-sizing:border-box;cursor:pointer;display:inline-block;min-width:1.5em;margin:0 .1em;padding:0 .25em;border:1px solid currentColor;border-radius:.8em;font:bold .75em/1.4 sans-serif;text-align:center;vertical-align:super;background:var(--background-color-base,#fff)}
.pincite-dot[aria-current]{outline:2px solid currentColor;outline-offset:0}
.pincite-dot:focus-visible,.pincite button:focus-visible,.pincite input:focus-visible,.pincite h2:focus-visible{outline:2px solid var(--border-color-progressive,#36c);outline-offset:1px}
.pincite-supported{color:var(--color-success,#14694a)}.pincite-partly_supported,.pincite-disputed,.pincite-unchecked{color:var(--color-warning,#7a4d00)}
.pincite-not_supported,.pincite-refuted{color:var(--color-error,#b3202a)}.pincite-open{color:var(--color-subtle,#54595d)}
.pincite{position:fixed;z-index:400;right:0;bottom:0;box-sizing:border-box;width:26em;max-width:100vw;max-height:70vh;overflow:auto;padding:.8em 1em;border:1px solid var(--border-color-base,#a2a9b1);background:var(--background-color-base,#fff);color:var(--color-base,#202122);font:.875rem/1.5 sans-serif;overflow-wrap:anywhere}
.pincite h2{margin:0;padding:0;border:0;font:bold 1.1em sans-serif;color:inherit}.pincite h3{margin:.8em 0 .2em;padding:0;font:bold 1em sans-serif}
.pincite-verdict{font-weight:bold}.pincite blockquote{margin:.3em 0;padding:.1em .7em;border-left:3px solid currentColor;font-style:normal;color:inherit}
.pincite button{margin:.3em .4em .3em 0;padding:.25em .7em;border:1px solid var(--border-color-base,#a2a9b1);border-radius:2px;background:var(--background-color-interactive-subtle,#f8f9fa);color:inherit;font:inherit;cursor:pointer}
.pincite label{display:block;margin:.4em 0}.pincite input{box-sizing:border-box;display:block;width:100%;padding:.3em;border:1px solid var(--border-color-base,#72777d);background:inherit;color:inherit;font:inherit}
.pincite a{color:var(--color-progressive,#36c);text-decoration:underline}.pincite p{margin:.3em 0}.pincite [role=alert]{font-weight:bold}
@media print{.pincite,.pincite-dot{display:none}}`;

	const language = mw.config.get( 'wgUserLanguage' ).split( '-' )[ 0 ];
	const texts = TEXTS[ language ] || TEXTS.en;
	const claims = new Map(); // the id of a citation's mark in the page → what is known of its claim
	let dots = new Map(); // the same id → its button
	let panel, list, body, status, stop, steps, section, job, opener;

	const say = ( name, ...values ) => values.reduce( ( text, value, i ) => text.split( '$' + ( i + 1 ) ).join( value ), texts[ name ] );

	const counted = ( name, n ) => texts[ name ][ n === 1 ? 0 : 1 ].replace( '$1', n );

	// ── The page ───────────────────────────────────────────────────────────────────────────────

	/** The preview that an editor shows, if any. */
	const preview = () => Array.from( document.querySelectorAll( '#wikiPreview .mw-parser-output' ) ).filter( ( each ) => each.offsetParent ).pop();

	const content = () => preview() || document.querySelector( '#mw-content-text .mw-parser-output' ) || document.querySelector( '#mw-content-text' );

	const isVisual = () => document.documentElement.classList.contains( 've-active' );

	/** Whether the text is being edited, and no preview shows it as it is now. */
	function isEdited() {
		const box = document.getElementById( 'wpTextbox1' );
		return isVisual() || Boolean( box ) && !( preview() && box.value === box.defaultValue );
	}

	/** The wikitext that is being edited. */
	function edited() {
		if ( !isVisual() ) {
			const box = document.getElementById( 'wpTextbox1' );
			return mw.loader.using( 'jquery.textSelection' ).then( () => $( box ).textSelection( 'getContents' ) );
		}
		const target = window.ve.init.target;
		const surface = target.getSurface();
		return surface.getMode() === 'source' ? Promise.resolve( surface.getDom() ) : target.getWikitextFragment( surface.getModel().getDocument() );
	}

	/** Each mark of a reference, with the id that MediaWiki gave it. */
	const marks = ( root ) => Array.from( root.querySelectorAll( 'sup.reference[id]' ) );

	/** The part of the page as a document: what was asked for, and the references that it cites. */
	function source( parts ) {
		const holder = document.createElement( 'div' );
		parts.forEach( ( part ) => holder.append( part.cloneNode( true ) ) );
		if ( !parts.includes( content() ) ) {
			content().querySelectorAll( 'ol.references, .refbegin' ).forEach( ( list ) => {
				if ( !parts.some( ( part ) => part.contains( list ) ) ) {
					holder.append( list.cloneNode( true ) );
				}
			} );
		}
		holder.querySelectorAll( '.pincite-dot, script, style' ).forEach( ( each ) => each.remove() );
		const head = document.createElement( 'title' );
		head.textContent = mw.config.get( 'wgTitle' );
		const lang = mw.config.get( 'wgPageContentLanguage' ) || 'en';
		return `<!doctype html><html lang="${ encodeURIComponent( lang ) }"><head>${ head.outerHTML }</head><body>${ holder.innerHTML }</body></html>`;
	}

	/** What stands between a heading and the next one of its level or above. */
	function sectionAt( heading ) {
		const start = heading.closest( '.mw-heading' ) || heading;
		const level = Number( heading.tagName[ 1 ] );
		const found = [ start ];
		for ( let next = start.nextElementSibling; next; next = next.nextElementSibling ) {
			const inside = next.matches( 'h1,h2,h3,h4,h5,h6' ) ? next : next.matches( '.mw-heading' ) && next.querySelector( 'h1,h2,h3,h4,h5,h6' );
			if ( inside && Number( inside.tagName[ 1 ] ) <= level ) {
				break;
			}
			found.push( next );
		}
		return found;
	}

	/** The heading of the section that is looked at: the last one above the middle of the window, of those with references. */
	function headingInView() {
		const cites = ( heading ) => sectionAt( heading ).some( ( part ) => marks( part ).length );
		const all = Array.from( content().querySelectorAll( 'h2,h3,h4,h5,h6' ) ).filter( ( each ) => !each.closest( '.toc' ) && cites( each ) );
		return all.filter( ( each ) => each.getBoundingClientRect().top < window.innerHeight / 2 ).pop() || all[ 0 ];
	}

	/** The ids of the marks at these places of a text that was sent; the server counts code points. */
	function idsAt( letters, places ) {
		const ids = places.map( ( place ) => /<sup[^>]*\sid="([^"]+)"/.exec( letters.slice( place[ 0 ], place[ 1 ] ).join( '' ) ) );
		const decode = document.createElement( 'textarea' );
		return ids.filter( Boolean ).map( ( found ) => {
			decode.innerHTML = found[ 1 ];
			return decode.value;
		} );
	}

	// ── The server ─────────────────────────────────────────────────────────────────────────────

	const stored = () => Object.assign( { address: ADDRESS, token: '' }, mw.storage.getObject( STORAGE ) );

	class Refused extends Error {
		constructor( message, code ) {
			super( message );
			this.status = code; // of the answer, if there was one
		}
	}

	/** What the server answers, as JSON; a Refused in words for anything else. */
	function ask( method, path, sent ) {
		const { address, token } = stored();
		const ended = new AbortController();
		const timer = setTimeout( () => ended.abort(), PATIENCE );
		const headers = { 'Accept-Language': language };
		if ( token ) {
			headers.Authorization = 'Bearer ' + token;
		}
		if ( sent ) {
			headers[ 'Content-Type' ] = 'application/json';
		}
		// No cookies go to it, and it is told nothing of the page that asks but its site.
		const options = { method, headers, credentials: 'omit', mode: 'cors', redirect: 'error', referrerPolicy: 'origin', signal: ended.signal };
		const asked = fetch( address + path, sent ? Object.assign( options, { body: JSON.stringify( sent ) } ) : options );
		const answered = asked.then( ( answer ) => answer.json().catch( () => ( {} ) ).then( ( found ) => {
			if ( answer.ok ) {
				return found;
			}
			const told = String( found.detail || answer.statusText ).slice( 0, 300 );
			throw new Refused( answer.status === 401 ? say( 'token401' ) : say( answer.status < 500 ? 'notAllowed' : 'failed', answer.status, told ), answer.status );
		} ) );
		return answered.catch( ( error ) => {
			if ( error instanceof Refused ) {
				throw error;
			}
			throw new Refused( error.name === 'AbortError' ? say( 'slow', address ) : say( 'noServer', address, location.origin ) );
		} ).then( ( found ) => {
			clearTimeout( timer );
			return found;
		}, ( error ) => {
			clearTimeout( timer );
			throw error;
		} );
	}

	/** The revision that is shown; 0 for a preview, which is none. */
	const shownRevision = () => preview() ? 0 : mw.config.get( 'wgRevisionId' );

	/** Check parts of the page, or all of the text that is being edited. */
	function check( parts ) {
		status.textContent = say( 'waiting' );
		list.replaceChildren();
		if ( !isEdited() ) {
			const number = shownRevision();
			return checkText( source( parts ), Object.assign( { markup: 'html' }, number ? { revision: number } : {} ) );
		}
		status.textContent = say( 'edited' );
		return Promise.resolve( edited() ).then( ( text ) => checkText( text, { markup: 'wikitext' } ), () => complain( new Refused( say( 'unreadable' ) ) ) );
	}

	/** Check a text, telling as it goes. */
	function checkText( text, about ) {
		const letters = Array.from( text );
		const sent = Object.assign( { text, title: mw.config.get( 'wgTitle' ) }, about );
		return ask( 'POST', '/api/v1/verify', sent ).then( ( started ) => {
			job = started;
			stop.hidden = false;
			const place = '/api/v1/jobs/' + encodeURIComponent( job.job_id );
			return follow( place, letters, 0, 0 ).then( () => ask( 'GET', place + '/citations' ) );
		} ).then( ( found ) => {
			found.forEach( ( claim ) => known( claim, idsAt( letters, claim.citations.map( ( each ) => each.at ) ) ) );
			status.textContent = found.length ? summary( found ) : say( 'none' );
			if ( about.markup === 'wikitext' ) {
				enumerate( found );
			}
		} ).catch( complain ).then( () => {
			job = null;
			stop.hidden = true;
		} );
	}

	/** Show each claim's label as soon as it is known; returns when the job has ended. */
	function follow( place, letters, after, total ) {
		return ask( 'GET', place + '/events?after=' + after ).then( ( told ) => {
			told.events.forEach( ( event ) => {
				after = event.number;
				total = event.data.claims || event.data.total || total;
				if ( event.kind === 'judged' ) {
					idsAt( letters, event.data.at || [] ).forEach( ( id ) => paint( id, event.data.label ) );
					status.textContent = say( 'running', event.data.done, total );
				}
			} );
			if ( !told.ended ) {
				return new Promise( ( resolve ) => setTimeout( resolve, POLL ) ).then( () => follow( place, letters, after, total ) );
			}
			return ask( 'GET', place ).then( ( now ) => {
				if ( now.status === 'failed' ) {
					throw new Refused( say( 'failed', now.status, ( now.problem || {} ).detail || '' ) );
				}
				if ( now.status === 'cancelled' ) {
					throw new Refused( say( 'stopped' ) );
				}
			} );
		} );
	}

	/** One citation: what is known of this revision already, else the paragraph that holds it. */
	function checkOne( mark ) {
		if ( job ) {
			return;
		}
		panel.hidden = false;
		const link = mark.querySelector( 'a[href^="#"]' );
		const number = shownRevision();
		status.textContent = say( 'waiting' );
		const checkHere = () => check( [ mark.closest( BLOCKS ) || mark.parentElement ] ).then( () => claims.has( mark.id ) && showAt( mark.id ) );
		if ( !link || !number ) {
			checkHere();
			return;
		}
		const note = decodeURIComponent( link.getAttribute( 'href' ).slice( 1 ) );
		const query = new URLSearchParams( { title: mw.config.get( 'wgTitle' ), revision: number, note } );
		ask( 'GET', '/api/v1/citations?' + query ).catch( ( error ) => {
			if ( error.status === 404 ) {
				return [];
			}
			throw error;
		} ).then( ( found ) => {
			if ( found.length !== 1 ) {
				return checkHere();
			}
			known( found[ 0 ], [ mark.id ] );
			showAt( mark.id );
		} ).catch( complain );
	}

	// ── Published findings ─────────────────────────────────────────────────────────────────────

	/** The marks after a claim, where its words stand in a paragraph of the page. */
	function marksAfter( claim, block ) {
		const walker = document.createTreeWalker( block, NodeFilter.SHOW_ALL, { acceptNode: ( node ) =>
			node.nodeType === 1 && node.matches( 'style, script, .pincite-dot, .noprint' ) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT } );
		const places = [];
		let text = '';
		for ( let node = walker.nextNode(); node; node = walker.nextNode() ) {
			const mark = node.parentElement.closest( 'sup.reference' );
			if ( node.nodeType === 1 && node.matches( 'sup.reference[id]' ) ) {
				places.push( [ plain( text ).length, node ] );
			} else if ( node.nodeType === 3 && !mark ) {
				text += node.data;
			}
		}
		const start = plain( text ).indexOf( claim );
		const after = places.filter( ( [ at ] ) => start >= 0 && at >= start + claim.length - 1 );
		return after.filter( ( [ at ] ) => at <= after[ 0 ][ 0 ] + 1 ).map( ( [ , mark ] ) => mark );
	}

	const plain = ( text ) => text.replace( /\s+/g, ' ' ).trim();

	/** Whether a mark's note links to an address. */
	function cites( mark, url ) {
		const link = mark.querySelector( 'a[href^="#"]' );
		const note = link && document.getElementById( decodeURIComponent( link.getAttribute( 'href' ).slice( 1 ) ) );
		return Boolean( note ) && Array.from( note.querySelectorAll( 'a[href]' ) ).some( ( each ) => each.href === url );
	}

	/** A published finding in the form of a claim that was checked. */
	function claimOf( found ) {
		// A source may support a claim and be retracted: what was found is not what its label says.
		const label = PROBLEMS.includes( found.label ) ? found.label : 'disputed';
		const cited = { label, name: found.source_url, url: found.source_url, quote: found.quote, reasons: found.reasons };
		const empty = { verdict: found.reasons[ 0 ], support: null, missing: [], opinion: [], tags: [], suggestions: [] };
		return Object.assign( empty, { claim: found.claim, label, citations: [ cited ], tag: found.proposed } );
	}

	/** Show what the server has published on this revision; a server without a feed is no error. */
	function published() {
		const number = shownRevision();
		if ( !number || isEdited() ) {
			return Promise.resolve();
		}
		const scripts = mw.config.get( 'wgScriptPath' );
		const wiki = location.host + ( scripts === '/w' ? '' : scripts ); // as `pincite watch` names it
		const query = new URLSearchParams( { wiki, title: mw.config.get( 'wgPageName' ).replace( /_/g, ' ' ), revision: number } );
		const blocks = Array.from( content().querySelectorAll( BLOCKS ) ).filter( ( block ) => marks( block ).length );
		return ask( 'GET', '/api/v1/findings?' + query ).then( ( page ) => {
			const shown = page.findings.filter( ( found ) => {
				const all = [].concat( ...blocks.map( ( block ) => marksAfter( plain( found.claim ), block ) ) );
				const own = all.filter( ( mark ) => cites( mark, found.source_url ) );
				const ids = ( own.length ? own : all ).map( ( mark ) => mark.id ).filter( ( id ) => !claims.has( id ) );
				known( claimOf( found ), ids );
				return ids.length;
			} );
			if ( shown.length && !job ) {
				status.textContent = say( 'published' ) + ': ' + summary( shown );
			}
		} ).catch( () => {} );
	}

	// ── What is shown ──────────────────────────────────────────────────────────────────────────

	/** An element with a text; what is not given stays out. */
	function el( name, text, attributes ) {
		const made = document.createElement( name );
		if ( text ) {
			made.textContent = text;
		}
		Object.entries( attributes || {} ).forEach( ( [ key, value ] ) => made.setAttribute( key, value ) );
		return made;
	}

	function button( text, act ) {
		const made = el( 'button', text, { type: 'button' } );
		made.addEventListener( 'click', act );
		return made;
	}

	/** A link out of here, or the plain text where the address is not one of the web. */
	function out( href, text ) {
		return /^https?:\/\//i.test( href || '' ) ? el( 'a', text, { href, rel: 'noopener noreferrer nofollow', target: '_blank' } ) : el( 'span', text );
	}

	function complain( error ) {
		status.textContent = '';
		body.replaceChildren( el( 'p', error instanceof Refused ? error.message : String( error ), { role: 'alert' } ) );
	}

	function known( claim, ids ) {
		ids.forEach( ( id ) => {
			claims.set( id, claim );
			// Who bundles sources lets them support a claim together: none is accused alone.
			paint( id, claim.label, claim.verdict );
		} );
		steps.hidden = !problems().length;
	}

	/** "4 claims: 2 supported, 1 problem, 1 could not be checked". */
	function summary( found ) {
		const n = ( ...labels ) => found.filter( ( claim ) => labels.includes( claim.label ) ).length;
		const parts = [ [ 'nSupported', n( 'supported' ) ], [ 'nProblems', n( ...PROBLEMS ) ], [ 'nUnchecked', n( 'unchecked' ) ] ];
		return counted( 'claims', found.length ) + ': ' + parts.filter( ( part ) => part[ 1 ] ).map( ( part ) => counted( ...part ) ).join( ', ' ) + '.';
	}

	/** The first mark of each claim with a problem, in the order of the page. */
	function problems() {
		const seen = new Set();
		return marks( content() ).map( ( mark ) => mark.id ).filter( ( id ) => {
			const claim = claims.get( id );
			const fresh = claim && dots.has( id ) && PROBLEMS.includes( claim.label ) && !seen.has( claim.claim );
			return fresh && seen.add( claim.claim );
		} );
	}

	/** Show the next problem (by = 1) or the one before it (-1), around the page. */
	function step( by ) {
		const found = problems();
		if ( !found.length ) {
			return;
		}
		const shown = document.querySelector( '.pincite-dot[aria-current]' );
		const side = by > 0 ? Node.DOCUMENT_POSITION_FOLLOWING : Node.DOCUMENT_POSITION_PRECEDING;
		const ahead = found.filter( ( each ) => shown && shown.compareDocumentPosition( dots.get( each ) ) & side );
		const id = by > 0 ? ahead[ 0 ] || found[ 0 ] : ahead.pop() || found.pop();
		showAt( id );
		dots.get( id ).scrollIntoView( { block: 'center' } );
	}

	/** The keys n and p, while the panel is open and nothing is being typed. */
	function pressed( event ) {
		const by = { n: 1, p: -1 }[ String( event.key ).toLowerCase() ];
		const typing = event.target.closest && event.target.closest( 'input, textarea, select, [contenteditable]:not([contenteditable=false])' );
		if ( by && !panel.hidden && !typing && !event.ctrlKey && !event.altKey && !event.metaKey && !event.shiftKey && !event.defaultPrevented ) {
			event.preventDefault();
			step( by );
		}
	}

	function paint( id, label, verdict ) {
		const dot = dots.get( id );
		if ( dot ) {
			dot.className = 'pincite-dot pincite-' + label;
			dot.textContent = SIGNS[ label ];
			dot.title = verdict || texts[ label ];
			dot.setAttribute( 'aria-label', dot.title );
		}
	}

	/** The dots, one beside each mark; those that are there stay. */
	function place() {
		dots = new Map( Array.from( dots ).filter( ( [ , dot ] ) => dot.isConnected ) );
		marks( content() ).filter( ( mark ) => !dots.has( mark.id ) ).forEach( ( mark ) => {
			const dot = button( '', () => ( claims.has( mark.id ) ? showAt( mark.id ) : checkOne( mark ) ) );
			mark.after( dot );
			dots.set( mark.id, dot );
			paint( mark.id, 'open' );
		} );
	}

	function copy( text, name ) {
		const told = el( 'p', '', { role: 'status' } );
		const toSelect = () => told.replaceChildren( say( 'notCopied' ), el( 'blockquote', text ) );
		const copied = () => {
			told.textContent = say( 'copied' );
		};
		// Pages without https have no clipboard.
		const made = button( name, () => ( navigator.clipboard ? navigator.clipboard.writeText( text ).then( copied, toSelect ) : toSelect() ) );
		const both = el( 'div' );
		both.append( made, told );
		return both;
	}

	function citationView( cited, several ) {
		const found = el( 'section' );
		const heading = el( 'h3' );
		heading.append( out( cited.copy_url || cited.url, cited.name ) );
		found.append( heading );
		if ( cited.judged_by ) {
			found.append( el( 'p', say( 'judged', cited.judged_by ) ) );
		}
		if ( cited.unchecked ) {
			found.append( el( 'p', say( 'why' ) + ': ' + cited.unchecked ) );
			found.append( el( 'p', say( 'step' ) + ': ' + cited.step ) );
		}
		if ( cited.quote || cited.near ) {
			found.append( el( 'p', say( cited.quote ? 'quote' : 'near' ) + ':' ), el( 'blockquote', cited.quote || cited.near, { dir: 'auto', lang: cited.language } ) );
		}
		cited.reasons.forEach( ( reason ) => found.append( el( 'p', reason ) ) );
		if ( several ) {
			found.append( el( 'p', SIGNS[ cited.label ] + ' ' + texts[ cited.label ], { class: 'pincite-' + cited.label } ) );
		}
		return found;
	}

	function suggestionView( found ) {
		const made = el( 'section' );
		const heading = el( 'p' );
		heading.append( '⇄ ', out( found.url, found.title ) );
		made.append( heading, el( 'blockquote', found.quote, { dir: 'auto' } ) );
		if ( found.reference ) {
			made.append( copy( found.reference, say( 'copyReference' ) ) );
		}
		return made;
	}

	/** The claims of a text that is not on the page, worst first. */
	function enumerate( found ) {
		const items = found.map( ( claim ) => {
			const item = el( 'li' );
			const open = button( SIGNS[ claim.label ] + ' ' + claim.claim, () => show( claim, open ) );
			open.className = 'pincite-' + claim.label;
			item.append( open );
			return item;
		} );
		const all = el( 'ol', '', { 'aria-label': say( 'every' ) } );
		all.append( ...items );
		list.replaceChildren( all );
		body.replaceChildren();
	}

	const showAt = ( id ) => show( claims.get( id ), dots.get( id ) );

	/** A claim, its sources and what can be copied. */
	function show( claim, from ) {
		opener = from;
		dots.forEach( ( dot ) => dot.removeAttribute( 'aria-current' ) );
		opener.setAttribute( 'aria-current', 'true' );
		panel.hidden = false;
		const heading = el( 'h3', SIGNS[ claim.label ] + ' ' + say( 'claim' ), { tabindex: '-1', class: 'pincite-' + claim.label } );
		// The label after what was read: a reader compares first.
		const strength = claim.support === null ? '' : ' · ' + say( 'support', claim.support );
		const verdict = el( 'p', SIGNS[ claim.label ] + ' ' + claim.verdict + strength, { class: 'pincite-verdict pincite-' + claim.label } );
		const several = claim.citations.length > 1;
		body.replaceChildren( heading, el( 'blockquote', claim.claim ), ...claim.citations.map( ( cited ) => citationView( cited, several ) ), verdict );
		if ( claim.missing.length ) {
			body.append( el( 'p', say( 'missing' ) + ' ' + claim.missing.map( ( words ) => '“' + words + '”' ).join( ', ' ) + '.' ) );
		}
		body.append( ...claim.opinion.map( ( line ) => el( 'p', line ) ) );
		if ( claim.tags.length ) {
			body.append( el( 'p', say( 'tagged' ) + ': ' + claim.tags.join( ', ' ) ) );
		}
		if ( claim.tag ) {
			body.append( copy( claim.tag, say( 'copyTag' ) ) );
		}
		if ( claim.suggestions.length ) {
			body.append( el( 'h3', say( 'better' ) ), ...claim.suggestions.map( suggestionView ) );
		}
		body.append( el( 'p', say( 'advice' ) ) );
		heading.focus();
	}

	function close() {
		panel.hidden = true;
		if ( opener && opener.isConnected ) {
			opener.focus();
		}
	}

	function settings() {
		const { address, token } = stored();
		const form = el( 'form' );
		const told = el( 'p', '', { role: 'status' } );
		const fields = [ [ 'address', address, 'url' ], [ 'token', token, 'password' ] ].map( ( [ name, value, type ] ) => {
			const label = el( 'label', say( name ) );
			const input = el( 'input', '', { name, type, autocomplete: 'off', spellcheck: 'false' } );
			input.value = value;
			label.append( input );
			return label;
		} );
		form.noValidate = true;
		form.append( ...fields, el( 'button', say( 'save' ), { type: 'submit' } ), told );
		form.addEventListener( 'submit', ( event ) => {
			event.preventDefault();
			const given = form.elements.address.value.trim().replace( /\/+$/, '' );
			// A page of https may not ask a server without it, except on this machine.
			const isPlain = location.protocol === 'http:' && /^http:\/\/[^/\s]+$/.test( given );
			if ( !isPlain && !/^https:\/\/[^/\s]+$|^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/.test( given ) ) {
				told.textContent = say( 'noAddress' );
				return;
			}
			mw.storage.setObject( STORAGE, { address: given, token: form.elements.token.value.trim() } );
			told.textContent = say( 'saved' );
		} );
		body.replaceChildren( form );
		form.elements.address.focus();
	}

	/** The panel, made once. */
	function furnish() {
		panel = el( 'aside', '', { class: 'pincite', 'aria-labelledby': 'pincite-title' } );
		const heading = el( 'h2', 'Pincite', { id: 'pincite-title', tabindex: '-1' } );
		status = el( 'p', '', { role: 'status' } );
		list = el( 'div' );
		body = el( 'div' );
		stop = button( say( 'stop' ), () => job && ask( 'DELETE', '/api/v1/jobs/' + encodeURIComponent( job.job_id ) ).catch( complain ) );
		stop.hidden = true;
		const inView = () => {
			const heading = headingInView();
			return heading ? sectionAt( heading ) : [ content() ];
		};
		const starts = ( parts ) => () => job || check( parts() );
		steps = el( 'div' );
		steps.append( ...[ [ 'previous', -1, 'p' ], [ 'next', 1, 'n' ] ].map( ( [ name, by, key ] ) => {
			const made = button( say( name ), () => step( by ) );
			made.setAttribute( 'aria-keyshortcuts', key );
			return made;
		} ) );
		steps.hidden = true;
		section = button( say( 'section' ), starts( inView ) );
		panel.append( heading, button( say( 'page' ), starts( () => [ content() ] ) ), section, stop,
			button( say( 'settings' ), settings ), button( say( 'close' ), close ), status, steps, list, body );
		panel.addEventListener( 'keydown', ( event ) => event.key === 'Escape' && close() );
		document.addEventListener( 'keydown', pressed );
		document.body.append( panel );
		mw.util.addCSS( STYLE );
	}

	function begin( event ) {
		event.preventDefault();
		if ( !panel ) {
			furnish();
		}
		section.hidden = isEdited();
		if ( isEdited() ) {
			status.textContent = say( 'edited' );
		} else {
			place();
			published();
		}
		opener = event.currentTarget;
		panel.hidden = false;
		document.getElementById( 'pincite-title' ).focus();
	}

	mw.loader.using( [ 'mediawiki.util', 'mediawiki.storage' ] ).then( () => {
		const isRead = mw.config.get( 'wgAction' ) === 'view' && mw.config.get( 'wgIsArticle' );
		if ( !content() || !( isRead || document.getElementById( 'wpTextbox1' ) ) ) {
			return;
		}
		const where = mw.config.get( 'skin' ) === 'minerva' ? 'p-tb' : 'p-cactions';
		const link = mw.util.addPortletLink( where, '#', say( 'name' ), 'ca-pincite' );
		if ( link ) {
			( link.querySelector( 'a' ) || link ).addEventListener( 'click', begin );
		}
	} );
}() );
