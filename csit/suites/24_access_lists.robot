*** Settings ***
Documentation       Access lists by hand, as netvirt's users write them (ietf-access-control-list, bound by security-groups of aclservice):
...                 stateful, with remote groups, beside isolation policies, on pods of two nodes, by IPv4 and IPv6, SCTP too.
Resource            ../resources/coeus.resource
Library             ByHand
Library             Policies
Suite Setup         Start Three Pods
Suite Teardown      Stop Everything

*** Variables ***
${WEB}              aaaaaaaa-0000-4000-8000-000000000001
${CLIENTS}          aaaaaaaa-0000-4000-8000-000000000002
${NOBODY}           aaaaaaaa-0000-4000-8000-000000000003
${LISTS}            /rests/data/ietf-access-control-list:access-lists/acl=ietf-access-control-list:ipv4-acl

*** Test Cases ***
Lists That Are Bound To Nothing Do Nothing
    Put Access List    ${WEB}    ingress tcp 80 from ${CLIENTS}    egress
    Put Access List    ${CLIENTS}    egress
    Connection Should    pass    blue:p3    blue:p1    8080

What No Rule Permits Is Denied
    Bind Access Lists    blue:p1    ${WEB}
    Connection Should    fail    blue:p3    blue:p1    80
    Connection Should    fail    blue:p2    blue:p1    8080

Members Of A Remote Group Are Permitted
    Bind Access Lists    blue:p2    ${CLIENTS}
    Connection Should    pass    blue:p2    blue:p1    80
    Connection Should    fail    blue:p2    blue:p1    8080
    Connection Should    fail    blue:p3    blue:p1    80
    Bind Access Lists    blue:p3    ${CLIENTS}
    Connection Should    pass    blue:p3    blue:p1    80

Answers Pass And Nothing Else Does
    [Documentation]    What the bound pods send is permitted, and its answers come; nobody reaches p3 of himself.
    Connection Should    fail    blue:p1    blue:p3    8080
    Bind Access Lists    blue:p3
    Connection Should    pass    blue:p1    blue:p3    8080
    Connection Should    fail    blue:p3    blue:p2    80

A Rule Is Of A Network, Of ICMP, Of A Range
    Put Access List    ${WEB}    ingress icmp from 10.11.2.0/24    ingress tcp 8000-9000 from 10.11.1.20/32    egress
    Ping Should Pass    blue:p3    10.11.1.10
    Ping Should Fail    blue:p2    10.11.1.10
    Connection Should    pass    blue:p2    blue:p1    8080
    Connection Should    fail    blue:p2    blue:p1    80
    Connection Should    fail    blue:p3    blue:p1    8080

SCTP And IPv6 Have Rules As Well
    Put Access List    ${WEB}    ingress sctp 9090 from 10.11.2.0/24    ingress tcp 80 from fd00:2::/64    egress
    Connection Should    pass    blue:p3    blue:p1    9090    SCTP
    Connection Should    fail    blue:p3    blue:p1    9091    SCTP
    Connection Should    fail    blue:p2    blue:p1    9090    SCTP
    Connection Should    pass    blue:p3    blue:p1    80    TCP6
    Connection Should    fail    blue:p3    blue:p1    8080    TCP6
    Connection Should    fail    blue:p3    blue:p1    53    UDP6
    Connection Should    fail    blue:p2    blue:p1    80    TCP6
    Connection Should    fail    blue:p3    blue:p1    80
    Put Access List    ${WEB}    ingress icmp from 10.11.2.0/24    ingress tcp 8000-9000 from 10.11.1.20/32    egress
    Connection Should    fail    blue:p3    blue:p1    9090    SCTP

Lists And Policies Are A Union
    ${spec}=    Evaluate    {"ingress": [{"ports": [{"port": 80}]}]}
    Put Policy    web    ${spec}
    Connection Should    pass    blue:p3    blue:p1    80
    Connection Should    pass    blue:p2    blue:p1    8080
    Connection Should    fail    blue:p3    blue:p1    8080
    Delete Policy    web
    Connection Should    fail    blue:p3    blue:p1    80

A List That Is Not There Permits Nothing
    Bind Access Lists    blue:p1    ${NOBODY}
    Connection Should    fail    blue:p2    blue:p1    8080
    Connection Should    fail    blue:p1    blue:p3    80

It Is The Same After A Restart
    Tables Should Be As From Scratch
    Connection Should    fail    blue:p1    blue:p3    80

What Cannot Be Meant Is Refused
    Access List Is Refused    ${NOBODY}    ingress tcp 90-80    upper-port 80 is below lower-port 90
    Access List Is Refused    ${NOBODY}    ingress icmp 8    ports without a protocol that has some

Without Bindings All Is As Before
    Bind Access Lists    blue:p1
    Bind Access Lists    blue:p2
    Connection Should    pass    blue:p3    blue:p1    8080
    Connection Should    pass    blue:p1    blue:p2    8080
    ${flows}=    Flows Naming    1    conjunction
    Should Be Empty    ${flows}

*** Keywords ***
Start Three Pods
    Start Lab And Session    2
    Announce Node    1    10.11.1.0/24
    Announce Node    2    10.11.2.0/24
    Create Pod Of Both Versions    p1    1    10.11.1.10    fd00:1::10
    Create Pod Of Both Versions    p2    1    10.11.1.20    fd00:1::20
    Create Pod Of Both Versions    p3    2    10.11.2.10    fd00:2::10
    All Pods Should Reach All    blue
    Serve In Pods

Create Pod Of Both Versions
    [Arguments]    ${name}    ${node}    ${v4}    ${v6}
    ${body}=    Dual Pod Body    ${name}    blue    ${node}    ${v4}    ${v6}
    ${uid}=    Pod Uid    blue:${name}
    PUT On Session    coeus    ${CONFIG}/pod:coe/pods/${uid}    json=${body}    expected_status=201
    Plug Pod    ${name}    blue    ${node}    ${v4}/24    10.11.${node}.1
    Add Address    blue:${name}    ${v6}/64    fe80::1

Stop Everything
    Stop Servers
    Stop Lab
