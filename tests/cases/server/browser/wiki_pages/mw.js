
window.mw = {
  config: new Map(Object.entries(CONFIG)),
  loader: { using: () => Promise.resolve() },
  storage: {
    getObject: (key) => JSON.parse(localStorage.getItem(key)),
    setObject: (key, value) => localStorage.setItem(key, JSON.stringify(value)),
  },
  util: {
    addCSS: (css) => {
      const s = document.createElement("style"); s.textContent = css; document.head.append(s);
    },
    addPortletLink: (where, href, text, id) => {
      const list = document.querySelector("#" + where + " ul");
      if (!list) return null;
      const item = document.createElement("li"); item.id = id;
      const link = document.createElement("a"); link.href = href; link.textContent = text;
      item.append(link); list.append(item);
      return item;
    },
  },
};
